"""The search for the smallest change of an item whose recommender scores it by itself.

All single changes first, in the order of a fit: one that flips is a smallest answer. Then one more
change at a time, and those left out that can be. Where that takes more than two, pairs of the
changes that move the item most, in the order of what their parts do together. A pair is a smallest
answer where every single change was tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cerec.explain.changes.answers import Answers
from cerec.explain.changes.values import NO_GAIN, NO_LOSS, Values
from cerec.explain.explanation import Certificate
from cerec.explain.options import Options
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject

_ENOUGH = 0.1  # share of the time for further single changes, with an answer in hand
_GROWN = 0.6  # share of the time after which a set grows no more
_EACH, _PAIRED = 8, 64  # single changes of one value, and of all, that are combined
_GROWTH = 4  # of batches

Move = tuple[int, int]
"""What is lost and gained, -1 for nothing."""
Moves = tuple[Move, ...]
_NOTHING = np.zeros(0, np.int64)


class _Singles:
    """Single changes as a table, made into sets when they are asked about."""

    def __init__(self, table: NDArray[np.int64]) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, part: slice) -> list[Moves]:
        return [((x, g),) for x, g in self._table[part].tolist()]


@dataclass(frozen=True, slots=True)
class Found:
    """An answer: changes, and what the model says of them."""

    moves: Moves
    score: float
    certificate: Certificate | None


class Search:
    """Tries changes of one item for one user until its time ends."""

    def __init__(
        self,
        ask: Callable[[int, int, Sequence[Sequence[int]]], Doubles],
        subject: Subject,
        a: Answers,
        values: Values,
        asked: Options,
        end: float,
        *,
        why_not: bool,
    ) -> None:
        self._ask_model, self._subject = ask, subject
        self._values, self._asked = values, asked
        self._user, self._item = int(a.user[0]), int(a.item[0])
        self._own = subject.of_item.row(self._item).tolist()
        self._sign = -1 if why_not else 1
        self._cutoff, rival = float(a.cutoff[0]), int(a.replacement[0])
        self._tie = (rival < self._item) == (not why_not)
        self._start, self._end = time.monotonic(), end
        self._batch, self._pace = 1, 0.0
        self.late = False
        """Whether the time ended before everything was tried."""

    def run(self, hints: Doubles) -> Found | None:
        """The best answer; `hints` (V,): what a value may do to the score."""
        most = self._asked.max_changes or len(self._own) + 1
        tried: list[tuple[Moves, float]] = []
        found: Found | None = None
        for one in self._ask(self._singles(hints), 1.0):
            tried.append(one)
            found = self._better(found, *one, "minimum")
            if found is not None and self._spent() > _ENOUGH:
                break
        if found is not None or most == 1:
            return found
        every, pool = not self.late, self._pool(tried)
        self.late = False
        found = self._grown([m for m, _ in pool], most)
        late = self.late
        certificate: Certificate = "minimum" if every else "irreducible"
        if found is not None and len(found.moves) == 2:
            return replace(found, certificate=certificate)
        pair: Found | None = None
        for one in self._ask(self._pairs(pool), 1.0):
            pair = self._better(pair, *one, certificate)
            if pair is not None and self._spent() > _GROWN:
                break
        self.late = late or not every
        return pair or found

    def _better(
        self, found: Found | None, moves: Moves, score: float, certificate: Certificate
    ) -> Found | None:
        """The more decisive of two answers."""
        if not self._flips(score):
            return found
        if found is not None and self._sign * found.score <= self._sign * score:
            return found
        return Found(moves, score, certificate)

    def _pool(self, tried: list[tuple[Moves, float]]) -> list[tuple[Move, float]]:
        """The single changes that move the item most, not too many of one value."""
        out: list[tuple[Move, float]] = []
        count: dict[int, int] = {}
        for (move,), score in sorted(tried, key=lambda t: self._sign * t[1]):
            count[move[0]] = count.get(move[0], 0) + 1
            if count[move[0]] <= _EACH or move[0] < 0:
                out.append((move, self._sign * score))
        return out[:_PAIRED]

    def _pairs(self, pool: list[tuple[Move, float]]) -> list[Moves]:
        """Pairs whose parts add up to half of what is needed or more, the most first."""
        now = self._sign * float(self._subject.scores(np.array([self._user]))[0, self._item])
        need = now - self._sign * self._cutoff
        both = [
            (a[1] + b[1] - 2 * now, (a[0], b[0]))
            for a, b in combinations(pool, 2)
            if _together((a[0], b[0]))
        ]
        return [pair for fall, pair in sorted(both, key=lambda t: t[0]) if -fall >= need / 2]

    def _grown(self, pool: list[Move], most: int) -> Found | None:
        """The most helpful change added until the item flips, then those left out that can be."""
        kept: Moves = tuple(pool[:1])
        while 0 < len(kept) < most:
            wider = [(*kept, m) for m in pool if _together((*kept, m))]
            tried = list(self._ask(wider, _GROWN))
            if not tried:
                return None
            kept, now = min(tried, key=lambda t: self._sign * t[1])
            if self._flips(now):
                return self._reduced(kept, now)
        return None

    def _reduced(self, kept: Moves, score: float) -> Found:
        while len(kept) > 1:
            fewer = [tuple(m for m in kept if m != out) for out in kept]
            tried = list(self._ask(fewer, 1.0))
            if len(tried) < len(fewer):
                return Found(kept, score, None)
            moves, now = min(tried, key=lambda t: self._sign * t[1])
            if not self._flips(now):
                break
            kept, score = moves, now
        return Found(kept, score, "irreducible")

    def _singles(self, hints: Doubles) -> _Singles:
        """All single changes, those that may do most first."""
        v, kinds, own = self._values, self._asked.changes, self._own
        worth, parts = np.append(hints, 0.0), []  # -1 is nothing, and worth nothing
        for x in own:
            if v.mark[x] & NO_LOSS:
                continue
            gains = self._gains(int(v.relation[x])) if kinds != "remove" else _NOTHING
            gains = gains if kinds == "replace" else np.append(gains, -1)
            parts.append(np.column_stack([np.full(len(gains), x), gains]))
        if kinds == "any":
            for r in sorted({int(v.relation[x]) for x in own if v.several[v.relation[x]]}):
                gains = self._gains(r)
                gains = gains[v.mark[gains] & NO_GAIN == 0]
                parts.append(np.column_stack([np.full(len(gains), -1), gains]))
        moves = np.concatenate([np.zeros((0, 2), np.int64), *parts])
        fall = worth[moves[:, 0]] - worth[moves[:, 1]]
        return _Singles(moves[np.argsort(-self._sign * fall, kind="stable")])

    def _gains(self, relation: int) -> NDArray[np.int64]:
        v = self._values
        gains = np.asarray(v.gain[v.gain_at[relation] : v.gain_at[relation + 1]], np.int64)
        return gains[~np.isin(gains, self._own)]

    def _ask(self, tries: list[Moves] | _Singles, share: float) -> Iterator[tuple[Moves, float]]:
        """Every set with its score, in growing batches, until this share of the time is spent."""
        at = 0
        while at < len(tries):
            left = (self._end - self._start) * share - (time.monotonic() - self._start)
            n = min(self._batch, len(tries) - at)
            if self._pace > 0.0:
                n = min(n, int(left / self._pace))
            if left <= 0 or n == 0:
                self.late = True
                return
            part = tries[at : at + n]
            begun = time.monotonic()
            got = self._ask_model(self._user, self._item, [self._with(m) for m in part])
            self._pace = (time.monotonic() - begun) / n
            self._batch = max(self._batch, _GROWTH * n)
            at += n
            yield from zip(part, got.tolist(), strict=True)

    def _with(self, moves: Moves) -> list[int]:
        values = set(self._own) - {lost for lost, _ in moves}
        return sorted(values | {gained for _, gained in moves if gained >= 0})

    def _flips(self, score: float) -> bool:
        mine, rival = self._sign * score, self._sign * self._cutoff
        return mine < rival or (self._tie and mine == rival)

    def _spent(self) -> float:
        """The share of the time that is over."""
        return (time.monotonic() - self._start) / max(self._end - self._start, 1e-9)


def _together(moves: Moves) -> bool:
    """Whether no value is lost or gained twice."""
    lost = [x for x, _ in moves if x >= 0]
    gained = [g for _, g in moves if g >= 0]
    return len(set(lost)) == len(lost) and len(set(gained)) == len(gained)
