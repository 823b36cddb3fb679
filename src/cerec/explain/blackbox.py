"""Recommenders that are asked for every score: changes are tried one by one, then in pairs, then
by adding the most helpful, within a time.

A single change that flips is a smallest answer, and so is a pair once every single one was tried.
Effects fitted to scores, where there are any, say only what to try first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.errors import ConfigError, DataError
from cerec.explain.asking import Asker, question_of
from cerec.explain.assemble import Assembler, kept_notes
from cerec.explain.by_history import HistorySearch
from cerec.explain.columns.engine import Answers
from cerec.explain.columns.slots import NO_GAIN, NO_LOSS, Values
from cerec.explain.explanation import Certificate, Explanation
from cerec.explain.lookup import Pair, pair_of
from cerec.explain.options import Options
from cerec.explain.wording import LATE, OUTCOME
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import ranks_after
from cerec.recommend.subject import Subject

Rescore = Callable[[str, str, list[Pair]], float]
_SECONDS = 2.0  # for a question, where the asker sets no budget
_SINGLES, _PAIRS = 0.5, 0.8  # shares of the time after which the next kind is tried
_MOST_PAIRED = 64  # single changes that are tried in pairs

Move = tuple[int, int]
"""What is lost and gained, -1 for nothing."""


class _Scores:
    """Scores of a model, with effects of nothing."""

    def __init__(self, subject: Subject, n_values: int) -> None:
        self._subject, self._n = subject, n_values

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        return self._subject.scores(users), np.zeros((len(users), self._n))


@dataclass(frozen=True, slots=True)
class _Found:
    moves: tuple[Move, ...]
    score: float
    certificate: Certificate


class BlackBox(Asker):
    """Answers by asking f(user, item, attributes)."""

    compiled = False

    def __init__(
        self,
        data: Dataset,
        subject: Subject,
        rescore: Rescore,
        history: HistorySearch | None = None,
    ) -> None:
        facts = subject.facts
        self._rescore, self._fitted = rescore, subject
        asked = replace(
            subject,
            vocabulary=np.arange(facts.n_values, dtype=np.int32),
            of_item=facts.of_item,
            scale=np.ones(len(facts.of_item)),
            source="model",
            model=_Scores(subject, facts.n_values),
            fidelity=None,
        )
        super().__init__(data, asked, None, history)
        self.assembler = Assembler(data, self.solver, silent=True)

    def check(self, asked: Options, *, why_not: bool = False) -> None:
        """Refuse what can only be asked of additive effects."""
        super().check(asked, why_not=why_not)
        for name, value in (("prefer", "decisive"), ("scope", "value")):
            if getattr(asked, name) != value:
                raise ConfigError(f"{name} must be {value!r} where rescore= is asked for scores")

    def score(self, user: int, item: int, values: NDArray[np.int32]) -> float:
        """What the caller's function says."""
        pairs = [pair_of(self.data, self.subject.facts, int(v)) for v in values]
        who, what = self.data.users[user], self.data.items[item]
        given: Any = self._rescore(who, what, pairs)
        try:
            score = float(given)
        except (TypeError, ValueError):
            score = math.nan
        if not math.isfinite(score):
            raise DataError(f"rescore({who!r}, {what!r}, attributes) gave {given!r}, not a number")
        return score

    def explanations(
        self,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        asked: Options,
        *,
        why_not: bool = False,
    ) -> list[Explanation]:
        """One explanation per pair, each within its own time."""
        self.check(asked, why_not=why_not)
        values = self.solver.values(asked)
        return [
            self._one(np.array([u]), np.array([i]), values, asked, why_not=why_not)
            for u, i in zip(user.tolist(), item.tolist(), strict=True)
        ]

    def _one(
        self,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        values: Values,
        asked: Options,
        *,
        why_not: bool,
    ) -> Explanation:
        """The engine says where the item stands; the search what would flip it."""
        question = replace(question_of(asked, why_not=why_not), alternatives=0)
        start = self.solver.asked(user, item, values, question)
        certificate: Certificate = "minimum"
        late = False
        if start.answers.status[0] == 1 and start.answers.replacement[0] >= 0:
            search = _Search(self, start.answers, values, asked, why_not=why_not)
            found, late = search.run(self._hints(int(user[0])))
            if found is not None:
                certificate = found.certificate
                start = self.solver.restated(start, self._answers(start.answers, found, why_not))
        notes = kept_notes(self.data, self.solver.kept_as_they_are(asked))
        out = self.assembler.explanations(start, certificate=certificate, notes=notes)
        if late and not out[0].found:
            text = out[0].text.removesuffix(OUTCOME[3]).removesuffix(OUTCOME[4]) + OUTCOME[LATE]
            out = [replace(out[0], status="timed_out", text=text)]
        return self._with_history(out, start, asked)[0] if asked.by != "attributes" else out[0]

    def _hints(self, user: int) -> Doubles:
        """Fitted effects of all values of the facts, 0 for those that have none."""
        out = np.zeros(self.subject.facts.n_values)
        if len(self._fitted.vocabulary):
            out[self._fitted.vocabulary] = self._fitted.both(np.array([user]))[1][0]
        return out

    def _answers(self, a: Answers, found: _Found, why_not: bool) -> Answers:
        lost, gained = np.array(found.moves, np.int32).T
        scores = self.subject.scores(a.user)
        known, zero = self.subject.known.take(a.user), np.zeros(1, np.int64)
        here = zero, a.item.astype(np.int64), np.array([found.score])
        rank = ranks_after(scores, known.indptr, known.indices, *here)
        sign = -1 if why_not else 1
        return replace(
            a,
            status=np.zeros(1, np.int8),
            indptr=np.array([0, len(lost)]),
            lost=np.ascontiguousarray(lost),
            gained=np.ascontiguousarray(gained),
            score_after=np.array([found.score]),
            rank_after=rank.astype(np.int32),
            margin=sign * (a.cutoff - found.score),
        )


class _Search:
    """Tries changes of one item for one user."""

    def __init__(
        self, box: BlackBox, a: Answers, values: Values, asked: Options, *, why_not: bool
    ) -> None:
        self._box, self._values, self._asked = box, values, asked
        self._user, self._item = int(a.user[0]), int(a.item[0])
        self._own = box.subject.of_item.row(self._item)
        self._sign = -1 if why_not else 1
        self._cutoff, rival = float(a.cutoff[0]), int(a.replacement[0])
        self._tie = (rival < self._item) == (not why_not)
        self._begun, self._seconds = time.monotonic(), asked.budget or _SECONDS

    def run(self, hints: Doubles) -> tuple[_Found | None, bool]:
        """The best answer, and whether time ran out before one."""
        most = self._asked.max_changes or len(self._own) + 1
        drops: list[tuple[float, Move]] = []
        moves = sorted(self._moves(), key=lambda m: -self._sign * self._hint(m, hints))
        complete = True
        for move in moves:
            if self._late(_SINGLES):
                complete = False
                break
            score = self._score((move,))
            if self._flips(score):
                return _Found((move,), score, "minimum"), False
            drops.append((-self._sign * score, move))
        if most == 1:
            return None, not complete
        drops.sort(key=lambda d: -d[0])
        found, every = self._pairs([m for _, m in drops[:_MOST_PAIRED]])
        if found is not None:
            return replace(found, certificate="minimum" if complete else "irreducible"), False
        found = self._greedy([m for _, m in drops], most)
        whole = complete and every and len(drops) <= _MOST_PAIRED and most == 2
        return found, found is None and not whole and self._late(1.0)

    def _pairs(self, moves: list[Move]) -> tuple[_Found | None, bool]:
        """Pairs of the most helpful changes; whether all were tried."""
        order = sorted(combinations(range(len(moves)), 2), key=sum)
        for m, n in order:
            if self._late(_PAIRS):
                return None, False
            pair = moves[m], moves[n]
            if _together(pair):
                score = self._score(pair)
                if self._flips(score):
                    return _Found(pair, score, "minimum"), True
        return None, True

    def _greedy(self, moves: list[Move], most: int) -> _Found | None:
        """The most helpful changes added until they flip, then those left out that can be."""
        kept: tuple[Move, ...] = ()
        for move in moves:
            if self._late(1.0) or not _together((*kept, move)):
                continue
            kept = (*kept, move)
            if self._flips(self._score(kept)):
                break
        else:
            return None
        for move in reversed(kept):
            rest = tuple(m for m in kept if m != move)
            if rest and self._flips(self._score(rest)):
                kept = rest
        return _Found(kept, self._score(kept), "irreducible") if len(kept) <= most else None

    def _moves(self) -> Iterator[Move]:
        v, kinds = self._values, self._asked.changes
        own = set(self._own.tolist())
        lose = [x for x in own if not v.mark[x] & NO_LOSS]
        for x in sorted(lose):
            r = int(v.relation[x])
            gains = (int(g) for g in v.gain[v.gain_at[r] : v.gain_at[r + 1]])
            if kinds != "remove":
                yield from ((x, g) for g in gains if g not in own)
            if kinds != "replace":
                yield x, -1
        if kinds == "any":
            has = {int(v.relation[x]) for x in own}
            for r in sorted(r for r in has if v.several[r]):
                gains = (int(g) for g in v.gain[v.gain_at[r] : v.gain_at[r + 1]])
                yield from ((-1, g) for g in gains if g not in own and not v.mark[g] & NO_GAIN)

    def _hint(self, move: Move, hints: Doubles) -> float:
        return sum(sign * hints[v] for v, sign in zip(move, (1, -1), strict=True) if v >= 0)

    def _score(self, moves: tuple[Move, ...]) -> float:
        values = set(self._own.tolist()) - {lost for lost, _ in moves}
        values |= {gained for _, gained in moves if gained >= 0}
        return self._box.score(self._user, self._item, np.array(sorted(values), np.int32))

    def _flips(self, score: float) -> bool:
        mine, rival = self._sign * score, self._sign * self._cutoff
        return mine < rival or (self._tie and mine == rival)

    def _late(self, share: float) -> bool:
        return time.monotonic() - self._begun > share * self._seconds


def _together(moves: tuple[Move, ...]) -> bool:
    """Whether no value is lost or gained twice."""
    lost = [x for x, _ in moves if x >= 0]
    gained = [g for _, g in moves if g >= 0]
    return len(set(lost)) == len(lost) and len(set(gained)) == len(gained)
