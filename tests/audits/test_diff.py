"""Two runs: parts of changes add up, and nothing changes between a run and itself."""

from __future__ import annotations

import numpy as np
import pytest

import cerec
from cerec.audit import diff
from cerec.data.synthetic.generate import checkerboard
from cerec.errors import QuestionError

K = 5


@pytest.fixture(scope="module")
def other_run(small_run: cerec.Run) -> cerec.Run:
    return cerec.train(small_run.data, seed=5)


def test_a_run_and_itself_are_the_same(small_run: cerec.Run) -> None:
    found = small_run.diff(small_run, K)
    assert (found.same, found.kept, found.came, found.left) == (1.0, 1.0, 0, 0)
    assert found.cases == ()
    assert found.because == ()


def test_parts_add_up_to_the_change_of_the_score(
    small_run: cerec.Run, other_run: cerec.Run
) -> None:
    found = small_run.diff(other_run, K)
    assert found.came > 0
    assert sum(share for *_, share in found.because) == pytest.approx(1.0)
    for case in found.cases:
        user = np.array([small_run.data.users.row(case.user)])
        item = small_run.data.items.row(case.item)
        scores = [r.subject.scores(user)[0, item] for r in (small_run, other_run)]
        assert case.score == pytest.approx(scores[1] - scores[0], abs=1e-9)
        assert sum(p.part for p in case.parts) == pytest.approx(case.score, abs=1e-9)
        ranks = small_run.rank(case.user, case.item), other_run.rank(case.user, case.item)
        assert (case.rank_a, case.rank_b) == ranks
        assert (ranks[1] <= K) == case.came


def test_two_models_count_in_spreads_of_scores(small_run: cerec.Run, paper_run: cerec.Run) -> None:
    found = diff((small_run.data, small_run.subject), (paper_run.data, paper_run.subject), k=K)
    assert found.scaled
    assert {kind for kind, *_ in found.because} <= {"relation", "other", "cutoff"}
    for case in found.cases:
        assert sum(p.part for p in case.parts) == pytest.approx(case.score, abs=1e-9)


def test_runs_of_other_items_are_refused(small_run: cerec.Run) -> None:
    other = cerec.train(checkerboard(6), seed=0)
    with pytest.raises(QuestionError, match="in common"):
        small_run.diff(other)
