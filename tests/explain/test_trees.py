"""Values that imply each other change together: against every closed set of values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.ragged import Ragged
from cerec.explain.changes.answers import Question, answer_listed
from cerec.explain.changes.values import implied, make_values
from explain.change_worlds import World, ranked

PARENTS = {2: {0}, 3: {0}, 4: {1}, 5: {1}, 6: {1, 4}, 7: {0, 2}}
"""A tree of eight categories: 0 and 1 at its top, 6 below 4, 7 below 2."""
N = 8


def tree_world(seed: int) -> tuple[np.ndarray, np.ndarray, Ragged, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows, n_items = [], 9
    for i in range(n_items):
        own = set(rng.choice(N, rng.integers(1, 3), replace=False).tolist())
        own |= {p for c in own for p in PARENTS.get(c, ())}
        plain = N + rng.choice(3, rng.integers(0, 3), replace=False)
        rows += [(i, v) for v in (*own, *plain.tolist())]
    item, value = np.array(rows).T
    of_item = Ragged.from_pairs(item, value, n_items)
    effects = rng.integers(-4, 5, (2, N + 3)) / 2.0
    scores = rng.normal(size=(2, n_items)) * rng.choice([1, 3])
    locked = rng.random(N + 3) < 0.1
    return scores, effects, of_item, locked, rng.random(1) < 0.5


def branches(own: set[int], mode: str, locked: np.ndarray) -> list[tuple[set[int], set[int]]]:
    """(lost, gained) of every change of a branch, by the words of the definition."""
    out: list[tuple[set[int], set[int]]] = []
    starts: list[int | None] = [*sorted(own)]
    for v in [*starts, None]:
        lost: set[int] = set()
        if v is not None:
            lost = {w for w in own if w == v or v in PARENTS.get(w, ())}
            family = lost | PARENTS.get(v, set())
            rest = own - family
            lost |= {
                p for p in PARENTS.get(v, set()) if not any(p in PARENTS.get(w, ()) for w in rest)
            }
            if any(locked[w] for w in lost):
                continue
        if mode != "replace" and v is not None:
            out.append((lost, set()))
        if mode == "remove" or (v is None and mode == "replace"):
            continue
        for g in set(range(N)) - own:
            gained = {g} | PARENTS.get(g, set())
            if not any(locked[w] for w in gained) and not gained & (own - lost):
                out.append((lost, gained))
    return out


@settings(max_examples=150)
@given(
    st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.sampled_from(["replace", "remove", "any"])
)
def test_the_best_of_all_changes_that_keep_parents(seed: int, k: int, mode: str) -> None:
    scores, effects, of_item, locked, _ = tree_world(seed)
    relation = np.array([0] * N + [1] * 3)
    child = np.array([c for c, ps in PARENTS.items() for _ in ps])
    above = Ragged.from_pairs(child, np.array([p for ps in PARENTS.values() for p in ps]), N + 3)
    known = Ragged(np.zeros(3, np.int64), np.zeros(0, np.int32))
    several = np.array([True, True])
    support = np.full(N + 3, 9)
    values = make_values(
        of_item, relation, support, np.ones(9), locked=locked, several=several, above=above
    )
    question = Question(k=k, changes=mode)  # type: ignore[arg-type]
    a = answer_listed(np.arange(2), known, scores, effects, values, question)
    world = World(scores, effects, known, of_item, relation, several, locked, np.ones(9), 1)
    for n in range(len(a)):
        user, item = int(a.user[n]), int(a.item[n])
        own = world.own(item)
        best: tuple[int, float] | None = None
        tree = [(0, 0.0)]
        for lost, gained in branches({v for v in own if v < N}, mode, locked):
            e = effects[user]
            tree.append((1, float(e[list(lost)].sum() - e[list(gained)].sum())))
        plain = _plain(own, effects[user], mode, locked)
        for (m, x), (q, y) in itertools.product(tree if own & set(range(N)) else tree[:1], plain):
            if m + q == 0:
                continue
            after = scores[user].copy()
            after[item] -= x + y
            if ranked(world, user, after).index(item) >= k:
                best = min(best or (99, 0.0), (m + q, -(x + y)))
        here = slice(a.indptr[n], a.indptr[n + 1])
        if best is None:
            assert a.status[n] != 0
            continue
        assert a.status[n] == 0
        assert int((a.along[here] == 0).sum()) == best[0]
        assert a.score_after[n] == pytest.approx(scores[user, item] + best[1])
        now = (own - set(a.lost[here].tolist())) | {v for v in a.gained[here].tolist() if v >= 0}
        assert all(PARENTS.get(v, set()) <= now for v in now)  # no child without its parent
        e = effects[user]
        drop = sum(e[v] for v in own) - sum(e[v] for v in now)
        assert drop == -best[1]


def _plain(own: set[int], e: np.ndarray, mode: str, locked: np.ndarray) -> list[tuple[int, float]]:
    mine = sorted(v for v in own if v >= N)
    lose = [v for v in mine if not locked[v]]
    gain = [v for v in range(N, N + 3) if v not in own and not locked[v]] if mine else []
    out = []
    for n in range(len(lose) + 1):
        for m in range(len(gain) + 1):
            if (mode == "replace" and n != m) or (mode == "remove" and m):
                continue
            for x in itertools.combinations(lose, n):
                for y in itertools.combinations(gain, m):
                    out.append((max(n, m), float(e[list(x)].sum() - e[list(y)].sum())))
    return out


def test_implications_are_found_where_a_relation_is_made_of_them() -> None:
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 20, 400)
    pairs = [(i, 4 + c) for i, c in enumerate(leaf)] + [(i, c // 5) for i, c in enumerate(leaf)]
    pairs += [(i, 24 + v) for i in range(400) for v in rng.choice(10, 2, replace=False)]
    item, value = np.array(pairs).T
    of_item, relation = Ragged.from_pairs(item, value, 400), np.array([0] * 24 + [1] * 10)
    found = implied(of_item, relation, np.zeros(2, bool), 5)
    assert [found.row(4 + c).tolist() for c in range(20)] == [[c // 5] for c in range(20)]
    assert found.counts[:4].sum() + found.counts[24:].sum() == 0
    assert implied(of_item, relation, np.array([True, False]), 5).size == 0
