"""What interactions count by, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import cerec
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.recommend.linear.choose import choose_weights
from cerec.recommend.linear.fit import FitMaterial
from cerec.recommend.linear.gram import Gram
from cerec.recommend.linear.weighing import Marks, Weighing
from cerec.settings.linear import LinearConfig
from cerec.settings.run import RunConfig
from worlds import SMALL

PLAYED = {
    "user": ["u", "u", "u", "v", "v"],
    "item": ["a", "b", "a", "a", "c"],
    "rating": [9.0, 3.0, 1.0, 3.0, 1.0],
    "timestamp": [0.0, 100.0, 300.0, 50.0, 50.0],
}


def history() -> tuple[Marks, Ragged]:
    data = cerec.Dataset.from_frames(PLAYED)
    pairs = data.interactions
    return Marks.of(data), Ragged.from_pairs(pairs.user, pairs.item, 2)


def test_ratings_are_divided_by_their_mean_and_the_latest_of_a_pair_counts() -> None:
    marks, taken = history()
    (plain, rating, log), ages = marks.options(taken, LinearConfig())
    assert marks.weights(taken, plain).tolist() == [1, 1, 1, 1]
    assert rating.mean == 2.0  # of 1, 3, 3 and 1
    assert marks.weights(taken, rating).tolist() == [0.5, 1.5, 1.5, 0.5]
    logs = np.log([2.0, 4.0, 4.0, 2.0])
    assert marks.weights(taken, log) == pytest.approx(logs / logs.mean())
    assert [w.half_life for w in ages] == [0.0, 50.0, 200.0, 800.0]  # the one age is 200


def test_age_is_that_before_the_users_latest() -> None:
    marks, taken = history()
    found = marks.weights(taken, Weighing(half_life=100.0))
    assert found.tolist() == [1.0, 0.25, 1.0, 1.0]  # b came 200 before a, two half-lives


def test_weights_in_the_gram_matrix_by_hand() -> None:
    """u: a 0.5, b 1.5, n 2; v: a 1.5, c 0.5, n 2; both count 2 ** -0.5."""
    marks, taken = history()
    gram = Gram.build(taken, marks.weights(taken, Weighing("rating", mean=2.0)), 3)
    half = 2.0**-0.5
    assert gram.diagonal == pytest.approx(np.array([2.5, 2.25, 0.25]) * half)
    first = dict(zip(gram.indices[:3].tolist(), gram.count[:3].tolist(), strict=True))
    assert first == pytest.approx({0: 2.5 * half, 1: 0.75 * half, 2: 0.75 * half})


def test_settings_that_need_what_is_not_there() -> None:
    data = cerec.Dataset.from_frames({"user": ["u"], "item": ["a"]})
    marks, taken = Marks.of(data), Ragged.from_pairs(np.array([0]), np.array([0]), 1)
    assert [len(turn) for turn in marks.options(taken, LinearConfig())] == [1]
    with pytest.raises(DataError, match=r'model.weights = "log" needs a rating for every'):
        list(marks.options(taken, LinearConfig(weights="log")))
    with pytest.raises(DataError, match=r"model.half_life needs a timestamp for every"):
        list(marks.options(taken, LinearConfig(half_life=5.0)))


def test_ratings_that_tell_taste_are_chosen(material: FitMaterial, parts: object) -> None:
    """Every second item of a history is noise: rated 1, and never taken later."""
    rng = np.random.default_rng(0)
    n_users, half = 200, 40
    user = np.repeat(np.arange(n_users), 12)
    group = rng.integers(0, 4, n_users)[user]
    liked = group * 10 + rng.integers(0, 10, len(user))
    noise = half + rng.integers(0, half, len(user))
    good = np.arange(len(user)) % 2 == 0
    item = np.where(good, liked, noise)
    taken = Ragged.from_pairs(user, item, n_users)
    data = cerec.Dataset.from_frames(
        {
            "user": taken.row_of().astype(str),
            "item": taken.indices.astype(str),
            "rating": np.where(taken.indices < half, 5.0, 0.1),
        }
    )
    later = Ragged.from_pairs(np.arange(n_users), group[::12] * 10, n_users)
    held = Ragged.from_pairs(
        *(column[~np.isin(later.indices + 1000 * np.arange(n_users), taken.indices
          + 1000 * taken.row_of())] for column in (np.arange(n_users), later.indices)),
        n_users,
    )  # fmt: skip
    marks, facts = Marks.of(data), Facts.build(data)
    rows = Ragged(taken.indptr, taken.indices)
    assert [data.items[i] for i in (0, 40, 79)] == ["0", "40", "79"]  # rows are the numbers
    chosen, _, sample, looks = choose_weights(
        lambda w: FitMaterial(rows, marks.weights(rows, w), facts),
        held,
        marks.options(rows, LinearConfig()),
    )
    assert chosen.kind in ("rating", "log")
    assert sample is None  # that of equal weights would mislead
    assert looks == 3


def test_what_was_chosen_is_said(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from cerec.cli.train import tell
    from cerec.data.synthetic.generate import make_world

    settings = RunConfig.of({"model": {"half_life": 864000.0}})
    run = cerec.train(make_world(SMALL, seed=1), settings, out=tmp_path / "run")
    tell(run, tmp_path / "run", "saved")
    words = " ".join(capsys.readouterr().err.split())
    assert "count alike, half after 10 days" in words
    assert "values are on fewer than 5 items and are left out" in words
    assert cerec.open(tmp_path / "run").meta["chosen"]["weights"]["half_life"] == 864000.0
    weight = run.model.arrays["weight"]
    assert 0 < weight.min() < weight.max() == 1.0
