"""Two runs side by side: how lists differ, and where the scores of moved items come from.

For a user and an item that both runs know, the change of the score is split exactly:

    score_b - score_a = sum over relations + history + own      (other, where untold)

and an item moves against the change of the cut-off, the score of the last place of the list. Two
models of different kinds count in different units; then each is divided by the standard deviation
of the user's scores, and `scaled` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerec.audit.moves import Moved, moved, varied
from cerec.audit.parts import NAMES, AuditParts
from cerec.audit.plain import Page
from cerec.audit.segments import groups_of
from cerec.data.dataset import Dataset
from cerec.data.ids import IdTable
from cerec.errors import QuestionError
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject

_CASES, _BLOCK = 10, 256


@dataclass(frozen=True, slots=True)
class Difference(Page):
    """How the lists of two runs differ."""

    k: int
    users: int
    only_a: int
    """Users that only the first run knows."""
    only_b: int
    items_a: int
    items_b: int
    same: float
    """Share of users whose lists hold the same items."""
    kept: float
    """Share of places that hold an item of both lists."""
    scaled: bool
    came: int
    left: int
    because: tuple[tuple[str, str, str, float], ...]
    """(kind, id, name, share) of what moved items: the parts toward the move, as shares of all of
    these; `cutoff` is among them."""
    segments: tuple[tuple[str, str, int, float], ...]
    """(column, group, users, share of places kept)"""
    cases: tuple[Moved, ...]

    def text(self, a: str = "the first run", b: str = "the second") -> str:
        """A page in Markdown."""
        from cerec.audit.disclosure import diff_text

        return diff_text(self, a, b)


class _Side(NamedTuple):
    data: Dataset
    subject: Subject
    parts: AuditParts
    users: NDArray[np.int64]
    items: NDArray[np.int64]
    """Rows of what both know, in the same order."""


class _Scores(NamedTuple):
    """Of some users over common items: ranks, last place, and parts (n, C, P)."""

    rank: NDArray[np.int64]
    last: Doubles
    part: Callable[[NDArray[np.int64], NDArray[np.int64]], Doubles]


def diff(
    a: tuple[Dataset, Subject],
    b: tuple[Dataset, Subject],
    *,
    k: int = 20,
    least: int = 20,
    progress: Callable[[int], object] = lambda _: None,
) -> Difference:
    """How the lists of `b` differ from those of `a`, over the users that both know."""
    users = _common(a[0].users, b[0].users, "user")
    items = _common(a[0].items, b[0].items, "item")
    sides = [
        _Side(data, subject, AuditParts(subject, k), users[n], items[n])
        for n, (data, subject) in enumerate((a, b))
    ]
    names, columns = _columns(sides)
    scaled = a[1].source != b[1].source
    toward, cases, same, kept = np.zeros(len(names) + 1), [], 0, np.zeros(len(users[0]))
    came = left = 0
    for first in range(0, len(users[0]), _BLOCK):
        some = slice(first, first + _BLOCK)
        one, two = (
            _scores(s, s.users[some], c, k, len(names), scaled)
            for s, c in zip(sides, columns, strict=True)
        )
        inside = one.rank <= k, two.rank <= k
        kept[some] = (inside[0] & inside[1]).sum(axis=1) / np.maximum(inside[1].sum(axis=1), 1)
        same += int((inside[0] == inside[1]).all(axis=1).sum())
        row, item = np.nonzero(inside[0] != inside[1])
        comes = inside[1][row, item]
        came, left = came + int(comes.sum()), left + int((~comes).sum())
        if len(row):
            part = two.part(row, item) - one.part(row, item)
            bound = two.last[row] - one.last[row]
            sign = np.where(comes, 1.0, -1.0)
            push = np.column_stack([part, -bound]) * sign[:, None]
            toward += np.maximum(push, 0.0).sum(axis=0)
            best = np.argsort(-np.abs(part.sum(axis=1) - bound), kind="stable")[:_CASES]
            for n in best.tolist():
                u, i = int(row[n]), int(item[n])
                ranks = int(one.rank[u, i]), int(two.rank[u, i])
                where = sides[1].data, int(users[1][first + u]), int(items[1][i])
                cases.append(moved(*where, bool(comes[n]), ranks, part[n], float(bound[n]), names))
        progress(len(kept[some]))
    cases.sort(key=lambda c: -abs(c.score - c.cutoff))
    total = max(float(toward.sum()), 1e-12)
    because = sorted(
        zip(
            [*names, ("cutoff", "cutoff", "the other items of the list")],
            toward / total,
            strict=True,
        ),
        key=lambda x: -x[1],
    )
    return Difference(
        k=k,
        users=len(users[0]),
        only_a=len(a[0].users) - len(users[0]),
        only_b=len(b[0].users) - len(users[0]),
        items_a=len(a[0].items) - len(items[0]),
        items_b=len(b[0].items) - len(items[0]),
        same=same / max(len(users[0]), 1),
        kept=float(kept.mean()) if len(kept) else 1.0,
        scaled=scaled,
        came=came,
        left=left,
        because=tuple((*name, float(x)) for name, x in because if x > 0),
        segments=tuple(
            (*names, int(some.sum()), float(kept[some].mean()))
            for names, some in groups_of(*b).of_users(users[1], least)
        ),
        cases=tuple(varied(cases)),
    )


def _common(a: IdTable, b: IdTable, kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the ids that both have, in the order of the second."""
    place = {id_: n for n, id_ in enumerate(a.ids)}
    rows = [(place[id_], n) for n, id_ in enumerate(b.ids) if id_ in place]
    if not rows:
        raise QuestionError(f"the two runs have no {kind} in common, so nothing compares them")
    first, second = np.array(rows, np.int64).T
    return first, second


def _columns(
    sides: list[_Side],
) -> tuple[list[tuple[str, str, str]], list[list[int]]]:
    """The parts of both, by id, and where each of one side stands among them."""
    names: dict[str, tuple[str, str, str]] = {}
    columns = []
    told = all(s.parts.inside.told for s in sides)
    for s in sides:
        mine = []
        for kind, id_, name in s.parts.names(s.data.relations):
            if kind != "relation" and not told:
                kind, id_, name = "other", "other", NAMES["other"]
            names.setdefault(f"{kind}/{id_}", (kind, id_, name))
            mine.append(list(names).index(f"{kind}/{id_}"))
        columns.append(mine)
    return list(names.values()), columns


def _scores(
    side: _Side, users: NDArray[np.int64], columns: list[int], k: int, wide: int, scaled: bool
) -> _Scores:
    s, inside = side.subject, side.parts.inside
    scores, effects = s.both(users)
    known = s.known.take(users)
    unseen = ~np.isnan(scores)
    unseen[known.row_of(), known.indices] = False
    unit = np.ones(len(users))
    if scaled:
        unit = np.array([np.std(x[m]) or 1.0 for x, m in zip(scores, unseen, strict=True)])
    shown = np.where(unseen, scores, -np.inf)
    order = np.argsort(-shown, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(1, order.shape[1] + 1)[None, :], axis=1)
    rank[~unseen] = np.iinfo(np.int64).max
    last = np.take_along_axis(shown, order[:, [min(k, order.shape[1]) - 1]], axis=1)[:, 0] / unit

    def part(row: NDArray[np.int64], item: NDArray[np.int64]) -> Doubles:
        out = np.zeros((len(row), wide))
        items = side.items[item]
        mine = s.of_item.take(items)
        at = mine.row_of()
        amount = s.scale[items][at] * effects[row[at], mine.indices]
        np.add.at(out, (at, np.asarray(columns)[side.parts.place[mine.indices]]), amount)
        rest = scores[row, items] - out.sum(axis=1)
        n = len(side.parts.relations)
        if inside.told:
            out[np.arange(len(row)), columns[n + 1]] += inside.own[items]
            rest = rest - inside.own[items]
        out[np.arange(len(row)), columns[n]] += rest
        return out / unit[row][:, None]

    return _Scores(rank[:, side.items], last, part)
