"""Main parameters against a slow recomputation, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

import cerec
from cerec.audit import groups_of, measure
from cerec.audit.parts import AuditParts
from cerec.errors import CerecError

K = 5


def slow_parts(run: cerec.Run, user: int, k: int) -> tuple[list[int], np.ndarray, np.ndarray]:
    """The list of a user, (k, P) parts less those of the average unseen item, and the lifts."""
    s = run.subject
    relations = sorted(set(s.relation.tolist()))
    scores = s.scores(np.array([user]))[0]
    unseen = [i for i in range(s.n_items) if i not in set(s.known.row(user).tolist())]
    told = np.zeros((len(unseen), len(relations) + 2))
    for row, item in enumerate(unseen):
        c = s.contributions(user, item)
        for value, part in c.values:
            told[row, relations.index(int(s.relation[value]))] += part
        told[row, -2], told[row, -1] = sum(part for _, part in c.history), c.own
    order = np.argsort(-scores[unseen], kind="stable")[:k]
    less = told - told.mean(axis=0)
    return [unseen[n] for n in order], less[order], scores[unseen][order] - scores[unseen].mean()


def test_parts_are_those_added_up_by_hand(small_run: cerec.Run) -> None:
    parts = AuditParts(small_run.subject, K)
    block = parts.block(np.array([0, 7, 31]))
    for n, user in enumerate((0, 7, 31)):
        items, part, lift = slow_parts(small_run, user, K)
        assert block.listed[n].tolist() == items
        np.testing.assert_allclose(block.part[n], part, atol=1e-9)
        np.testing.assert_allclose(block.lift[n], lift, atol=1e-9)
        np.testing.assert_allclose(block.part[n].sum(axis=1), lift, atol=1e-9)


def test_shares_add_up_and_are_ratios_of_sums(small_run: cerec.Run) -> None:
    users = np.arange(0, 60, 3)
    found = measure(small_run.data, small_run.subject, k=K, users=users)
    assert sum(p.share.value for p in found.parameters) == pytest.approx(1.0)
    slow = [slow_parts(small_run, int(u), K) for u in users]
    total = sum(lift.sum() for _, _, lift in slow)
    genre = next(p for p in found.parameters if p.id == "genre")
    at = sorted(set(small_run.subject.relation.tolist())).index(
        small_run.data.relations.row("genre")
    )
    assert genre.share.value == pytest.approx(sum(p[:, at].sum() for _, p, _ in slow) / total)
    assert genre.share.low < genre.share.value < genre.share.high
    assert found.pairs == K * len(users)
    first = sum(p[0, at] for _, p, _ in slow) / sum(lift[0] for _, _, lift in slow)
    assert genre.by_rank["1"] == pytest.approx(first)


def test_a_change_within_a_relation_is_the_explainers(small_run: cerec.Run) -> None:
    users = np.arange(8)
    found = measure(small_run.data, small_run.subject, k=K, users=users)
    pairs = [
        (small_run.data.users[u], r.item)
        for u in users.tolist()
        for r in small_run.recommend(small_run.data.users[u], K)
    ]
    others = [r for r in small_run.data.relations.ids if r != "genre"]
    alone = sum(small_run.explain(*pair, k=K, by="attributes", lock=others).found for pair in pairs)
    genre = next(p for p in found.parameters if p.id == "genre")
    assert genre.needed is not None
    assert genre.needed.value == pytest.approx(alone / len(pairs))


def test_values_add_up_to_their_relation(small_run: cerec.Run) -> None:
    parts = AuditParts(small_run.subject, K)
    block = parts.block(np.arange(40))
    total = block.part.sum(axis=(0, 1))
    mine = np.bincount(parts.place, block.sums[0])
    np.testing.assert_allclose(mine, total[: len(mine)], rtol=1e-9, atol=1e-9)


def test_small_groups_are_not_shown(small_run: cerec.Run) -> None:
    groups = groups_of(small_run.data, small_run.subject, (), ("genre",))
    found = measure(
        small_run.data, small_run.subject, k=K, users=np.arange(25), groups=groups, least=20
    )
    assert found.suppressed > 0
    assert all(s.users >= 20 for s in found.segments)


def test_a_sample_says_so(small_run: cerec.Run) -> None:
    found = small_run.audit(K, sample=30)
    assert (found.users, found.sampled_from) == (30, len(small_run.data.users))
    assert "a sample of 60" in found.text()
    assert found.to_dict()["parameters"][0]["share"]["value"] > 0
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": ["nope"]}, "unknown column of the users' table 'nope'"),
        ({"items_by": ["nope"]}, "unknown relation 'nope'"),
        ({"sample": 0}, "sample must be at least 1"),
        ({"k": 0}, "0"),
    ],
)
def test_wrong_questions_are_one_line(small_run: cerec.Run, asked: dict, words: str) -> None:
    with pytest.raises(CerecError, match=words) as error:
        small_run.audit(**asked)
    assert "\n" not in str(error.value)


def test_a_recommender_without_parts_of_its_own_has_the_rest_as_one(paper_run: cerec.Run) -> None:
    found = paper_run.audit(K)
    assert {p.kind for p in found.parameters} == {"relation", "other"}
    assert sum(p.share.value for p in found.parameters) == pytest.approx(1.0)
    assert "fitted" in found.text()
