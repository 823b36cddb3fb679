"""NeuACF and CaDSI as explainers: the values a user cares least for."""

from __future__ import annotations

import numpy as np
import pytest
from explanation_worlds import learned

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec_bench.explainers.important import LastImportant, cadsi, neuacf
from cerec_bench.explainers.pairs import listed_pairs


class Told:
    """Cares for high values, and learns nothing."""

    def __init__(self) -> None:
        self.epochs = 0

    def preferences(self, user: int, values: np.ndarray) -> np.ndarray:
        return values.astype(np.float64) * (1 if user % 2 == 0 else -1)

    def epoch(self, *_: object, **__: object) -> float:
        self.epochs += 1
        return 0.0


def test_the_ten_last_of_all_values_or_of_the_items_own() -> None:
    context, model = learned(1), Told()

    def make(train: Ragged, facts: Facts, seed: int) -> Told:
        assert train is context.train
        assert facts is context.facts
        assert seed == context.seed
        return model

    pairs = listed_pairs(context, 20)
    everywhere, own = (LastImportant(make, epochs=2, own=own, size=4) for own in (False, True))
    everywhere.fit(context)
    own.fit(context)
    assert model.epochs == 2  # learned once, for both
    assert context.taken_seconds > 0
    n = context.facts.n_values
    for at, (any_of, of_item) in enumerate(
        zip(everywhere.explain(pairs), own.explain(pairs), strict=True)
    ):
        held = context.facts.of_item.row(int(pairs.item[at]))
        up = int(pairs.user[at]) % 2 == 0
        assert any_of.values.tolist() == ([0, 1, 2, 3] if up else [n - 1, n - 2, n - 3, n - 4])
        assert sorted([*any_of.lost, *any_of.gained]) == sorted(any_of.values)
        assert of_item.values.tolist() == (held[:4] if up else held[::-1][:4]).tolist()
        assert of_item.lost.tolist() == of_item.values.tolist()


@pytest.mark.parametrize("make", [neuacf, cadsi])
def test_a_learned_model_tells_users_apart(make: object) -> None:
    context = learned(2)
    method = LastImportant(make, epochs=1, own=False)
    method.fit(context)
    found = method.explain(listed_pairs(context))
    assert len({tuple(answer.values.tolist()) for answer in found}) > 5
