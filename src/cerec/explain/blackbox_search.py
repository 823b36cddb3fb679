"""The search for the smallest change of an item whose recommender scores it by itself.

All single changes first: one that flips is a smallest answer. Then pairs of those that move the
item most, in the order of what their parts do together; a pair that flips is a smallest answer
where every single change was tried. Then one more change at a time, and in the end those left out
that can be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cerec.explain.changes.answers import Answers
from cerec.explain.changes.values import NO_GAIN, NO_LOSS, Values
from cerec.explain.explanation import Certificate
from cerec.explain.options import Options
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject

_ENOUGH = 0.1  # share of the time for further single changes, with an answer in hand
_PAIRS = 0.7  # share of the time after which pairs give way to larger sets
_EACH, _PAIRED = 8, 64  # single changes of one value, and of all, that are combined
_GROWTH = 4  # of batches

Move = tuple[int, int]
"""What is lost and gained, -1 for nothing."""
Moves = tuple[Move, ...]


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

    def run(self, hints: Doubles | None) -> Found | None:
        """The best answer."""
        most = self._asked.max_changes or len(self._own) + 1
        moves = list(self._moves())
        if hints is not None:
            moves.sort(key=lambda m: -self._sign * _hint(m, hints))
        tried: list[tuple[Moves, float]] = []
        found: Found | None = None
        for one in self._ask([(m,) for m in moves], 1.0):
            tried.append(one)
            found = self._better(found, *one, "minimum")
            if found is not None and self._spent() > _ENOUGH:
                break
        if found is not None or most == 1:
            return found
        every, self.late = not self.late, False
        pool = self._pool(tried)
        best: tuple[Moves, float] = ((), np.inf)
        for pair in self._ask(self._pairs(pool), _PAIRS):
            found = self._better(found, *pair, "minimum" if every else "irreducible")
            best = min(best, (pair[0], self._sign * pair[1]), key=lambda t: t[1])
            if found is not None and self._spent() > _ENOUGH:
                break
        if found is not None or most == 2:
            self.late |= not every
            return found
        self.late = False
        return self._longer([m for m, _ in pool], best[0], most)

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

    def _longer(self, pool: list[Move], kept: Moves, most: int) -> Found | None:
        """The most helpful change added until the item flips, then those left out that can be."""
        score = np.inf
        while len(kept) < most:
            wider = [(*kept, m) for m in pool if _together((*kept, m))]
            tried = list(self._ask(wider, 1.0))
            if not tried:
                return None
            moves, now = min(tried, key=lambda t: self._sign * t[1])
            if self._sign * now >= score:
                return None
            kept, score = moves, self._sign * now
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

    def _moves(self) -> Iterator[Move]:
        v, kinds = self._values, self._asked.changes
        own = set(self._own)
        lose = [x for x in own if not v.mark[x] & NO_LOSS]
        for x in sorted(lose):
            if kinds != "remove":
                yield from ((x, g) for g in self._gains(int(v.relation[x])) if g not in own)
            if kinds != "replace":
                yield x, -1
        if kinds == "any":
            has = {int(v.relation[x]) for x in own}
            for r in sorted(r for r in has if v.several[r]):
                gains = self._gains(r)
                yield from ((-1, g) for g in gains if g not in own and not v.mark[g] & NO_GAIN)

    def _gains(self, relation: int) -> list[int]:
        v = self._values
        return [int(g) for g in v.gain[v.gain_at[relation] : v.gain_at[relation + 1]]]

    def _ask(self, tries: list[Moves], share: float) -> Iterator[tuple[Moves, float]]:
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


def _hint(move: Move, hints: Doubles) -> float:
    return sum(sign * float(hints[v]) for v, sign in zip(move, (1, -1), strict=True) if v >= 0)


def _together(moves: Moves) -> bool:
    """Whether no value is lost or gained twice."""
    lost = [x for x, _ in moves if x >= 0]
    gained = [g for _, g in moves if g >= 0]
    return len(set(lost)) == len(lost) and len(set(gained)) == len(gained)
