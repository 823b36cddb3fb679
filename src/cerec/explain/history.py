"""Answers by what a user did: without which items of the history would an item not be listed?

    ask = Histories(model)                  the default recommender, or one with `scores_from`
    ask.why(user, item, k=10)               the smallest set of the user's items to take away
    ask.why_not(user, item, k=10)           the fewest items to take up that bring it in

Items taken away still count as seen: they are never listed. Every answer is verified by scoring the
changed history and ranking everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.explain.history_asked import Asking, HistoryQuestion, Positions, Standing, standing
from cerec.explain.history_kernels import MAYBES, NONE, PROVEN, SIZE, TIGHT, WIDE, Parts, narrowed
from cerec.explain.history_parts import Asked, HistoryPerson, Own
from cerec.explain.history_search import smallest
from cerec.recommend.linear.model import Linear
from cerec.threads import in_chunks

Certificate = Literal["minimum", "irreducible", "none", "open"]
"""Nothing smaller does it; no item can be left out; no set does it; the budget ran out: what was
found, if anything, may be larger than need be."""
_LONG = 5000  # items of a history that is no longer searched, only asked about
_USERS = 32  # whose questions are answered together
_MAYBES = 16  # sets on the brink that are left to the model to judge
_SHORT = 48  # items to take up that are combined with each other


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work an answer may cost."""

    most: int = 256
    """Items of a set that is searched for; longer ones are only found by asking."""
    work: int = 1_000_000
    """Comparisons of the exact search for one answer, some milliseconds."""
    rounds: tuple[tuple[int, int], ...] = ((160, 6), (640, 16), (4000, 32))
    """Rivals looked at one by one, and sizes of sets bounded; the next round is for answers that
    the one before does not prove."""
    entries: int = 6_000_000
    """History items times rivals at the most."""
    asked: int = 4000
    """Histories that the recommender is asked to score for one answer, where asking is the way."""


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """What becomes of an item in a changed history; rows are those of the data."""

    items: tuple[int, ...]
    """Taken away, or taken up; empty where nothing was found."""
    rank_before: int
    rank_after: int
    score_after: float
    """nan where the item may not be listed any more."""
    cutoff: float
    """The score of the k-th other item: the last that is listed, or, where the item itself is, the
    first that is not. nan where there is none."""
    replacement: int
    """The best item that came into the list; where the item did, the one that went; or -1."""
    certificate: Certificate
    verified: bool


class Histories:
    """Asks one recommender, whose rows are those of the data, about changed histories."""

    def __init__(
        self,
        model: Any,
        *,
        known: Ragged | None = None,
        histories: Ragged | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`known`: what is never listed, beside the history itself. `histories` of a recommender
        that is not our linear one; by default what is known.
        """
        self.budget = Budget() if budget is None else budget
        self._known = known
        histories = known if histories is None else histories
        if isinstance(model, Linear):
            self._people: Own | Asked = Own(model)
        elif histories is None:
            raise ValueError("a brought recommender needs the histories of its users")
        else:
            self._people = Asked(model, histories)

    def why(self, user: int, item: int, k: int = 20) -> HistoryAnswer | None:
        """Without which items it would not be listed; None where it is not."""
        return self.why_many(np.array([user]), np.array([item]), k)[0]

    def why_many(
        self, users: NDArray[np.integer], items: NDArray[np.integer], k: int = 20
    ) -> list[HistoryAnswer | None]:
        """`why` for pairs of a user and an item; those of one user are cheaper together."""
        out: list[HistoryAnswer | None] = [None] * len(users)
        some, at = np.unique(users, return_inverse=True)
        for start in range(0, len(some), _USERS):
            people = self._persons(some[start : start + _USERS])
            asked: list[list[HistoryQuestion]] = [[] for _ in people]
            place_of: dict[int, int] = {}
            for n in np.flatnonzero((at >= start) & (at < start + _USERS)).tolist():
                person, item = people[at[n] - start], int(items[n])
                now = standing(person.scores, person.seen, item, k)
                if now.rank <= k and not person.seen[item] and not np.isnan(now.score):
                    question = HistoryQuestion(person, item, k, now)
                    asked[at[n] - start].append(question)
                    place_of[id(question)] = n
            self._propose(asked)
            questions = [q for some in asked for q in some]
            for q, hit in zip(questions, self._tried(questions), strict=True):
                out[place_of[id(q)]] = self._concluded(q, hit)
        return out

    def why_not(self, user: int, item: int, k: int = 20) -> HistoryAnswer | None:
        """What to take up for it to be listed; None where it is, or may not be."""
        person = self._persons(np.array([user]))[0]
        now = standing(person.scores, person.seen, item, k)
        if person.seen[item] or np.isnan(now.score) or now.rank <= k:
            return None
        rows = person.listable()
        rows = rows[rows != item]
        q = HistoryQuestion(person, item, k, now, rows, proven=0)
        if not isinstance(self._people, Own) or q.n_choices == 0:
            return self._concluded(q, None)
        columns = person.best(max(self.budget.rounds[0][0], 4 * k))
        columns = np.append(columns[columns != item], item)
        lead = person.scores[columns] + self._people.taken_up(person, rows, columns)
        lead[columns[None, :] == rows[:, None]] = -np.inf  # listed no more
        rivals = np.sort(lead[:, :-1], axis=1)[:, ::-1]
        drive = lead[:, -1] - (rivals[:, k - 1] if rivals.shape[1] >= k else 0.0)
        order = np.argsort(-drive, kind="stable")
        passing = int((drive >= -1e-9 * np.abs(person.scores[columns]).max()).sum())
        q.sets = [order[n : n + 1] for n in range(min(passing, _MAYBES))]
        q.proven, q.order = int(passing <= _MAYBES), order[:_SHORT]
        return self._concluded(q, self._tried([q])[0])

    def _persons(self, users: NDArray[np.integer]) -> list[HistoryPerson]:
        histories, out = self._people.histories(users), []
        scores = self._people.scores(histories)
        for user, (history, weight), row in zip(users.tolist(), histories, scores, strict=True):
            seen = np.zeros(len(row), bool)
            seen[history] = True
            if self._known is not None:
                seen[self._known.row(user)] = True
            out.append(HistoryPerson(history, weight, row, seen))
        return out

    def _propose(self, asked: list[list[HistoryQuestion]]) -> None:
        """Search, for the questions of each user."""

        def work(first: int, last: int) -> None:
            for questions in asked[first:last]:
                if questions and len(questions[0].person.history):
                    self._search(questions)

        own = isinstance(self._people, Own)  # which lets go of the interpreter
        in_chunks(len(asked), work, chunk=1 if own else len(asked))

    def _search(self, questions: list[HistoryQuestion]) -> None:
        b, person, k = self.budget, questions[0].person, questions[0].k
        n_history = len(person.history)
        if n_history > _LONG:
            return
        whole = self._people.parts(person, person.best(max(2 * k, b.entries // n_history)))
        order = whole.alone[:, min(k, len(whole.score) - 1)]
        for q in questions:
            gain = whole.alone[:, q.now.rank - 1] - order
            q.order = np.argsort(gain, kind="stable")
            q.proven = int(whole.far[1] == -np.inf)
        for width, sizes in b.rounds:
            bounded = self._people.bounds(whole, sizes)
            some = narrowed(bounded, k, max(width, 4 * k))
            told = self._round(questions, bounded if some is None else some)
            last = some is None and len(bounded.far) > n_history
            questions = [q for q, wide in zip(questions, told, strict=True) if wide and not last]
            if not questions:
                return

    def _round(self, questions: list[HistoryQuestion], parts: Parts) -> list[bool]:
        """Search for all; whether more rivals, or bounds of larger sets, could prove more."""
        b, n, n_history = self.budget, len(questions), len(parts.alone)
        longest = max(1, min(b.most, n_history))
        chosen, tell = np.zeros((n, longest), np.int64), np.zeros((n, 6), np.int64)
        maybe = np.zeros((n, _MAYBES, 1 + n_history), np.int64)
        targets = np.array([q.now.rank - 1 for q in questions])  # columns are in order of scores
        smallest(parts, targets, questions[0].k, longest, b.work, chosen, maybe, tell)
        for q, row, open_, told in zip(questions, chosen, maybe, tell, strict=True):
            sure = (row[: told[SIZE]],) if told[SIZE] else ()
            some = [x[1 : 1 + x[0]] for x in open_[: told[MAYBES]]]
            q.sets = sorted((*sure, *some), key=len)
            q.proven = n_history if told[PROVEN] else q.proven
            q.none, q.tight = bool(told[NONE]), bool(told[TIGHT]) and len(q.sets) == 1
        return [bool(told[WIDE]) for told in tell]

    def _ask(self, asked: Sequence[tuple[HistoryQuestion, Positions]]) -> list[Standing]:
        """Where the targets stand, each changed history scored once."""
        keys = [(id(q.person), q.rows is None, q.person.history[s].tobytes()
                 if q.rows is None else q.rows[s].tobytes()) for q, s in asked]  # fmt: skip
        at = {key: n for n, key in reversed(list(enumerate(keys)))}
        some = sorted(at.values())
        row_of = {keys[n]: row for row, n in enumerate(some)}
        if not some:
            return []
        scores = self._people.scores([asked[n][0].changed(asked[n][1]) for n in some])
        return [q.standing(scores[row_of[key]], s) for (q, s), key in zip(asked, keys, strict=True)]

    def _tried(
        self, questions: Sequence[HistoryQuestion]
    ) -> list[tuple[Positions, Standing] | None]:
        """The first set of each question that does it."""
        out: list[tuple[Positions, Standing] | None] = [None] * len(questions)
        left, turn = [n for n, q in enumerate(questions) if q.sets], 0
        while left:
            asked = [(questions[n], questions[n].sets[turn]) for n in left]
            for n, (q, chosen), found in zip(left, asked, self._ask(asked), strict=True):
                if q.does(found):
                    out[n] = chosen, found
            turn += 1
            left = [n for n in left if out[n] is None and len(questions[n].sets) > turn]
        return out

    def _concluded(
        self, q: HistoryQuestion, hit: tuple[Positions, Standing] | None
    ) -> HistoryAnswer:
        if hit is None and (q.none or q.n_choices == 0):
            return _nothing(q, "none")
        own = isinstance(self._people, Own)  # slow to ask, and searched already
        ended, left = True, self.budget.asked // (10 if own else 1)
        if hit is None or (not own and len(hit[0]) > q.proven + 1):
            hit = Asking(self._ask, q, left).find(hit)
        if hit is None:
            return _nothing(q, "none" if q.proven >= q.n_choices else "open")
        if len(hit[0]) > q.proven + 1 and not q.tight:
            hit, ended = Asking(self._ask, q, self.budget.asked).reduced(*hit)
        certificate: Certificate = "minimum"
        if len(hit[0]) > max(q.proven + 1, 1):
            certificate = "irreducible" if ended else "open"
        return _answer(q, *hit, certificate)


def _nothing(q: HistoryQuestion, why: Certificate) -> HistoryAnswer:
    now = q.now
    return HistoryAnswer((), now.rank, now.rank, now.score, now.cutoff, -1, why, False)


def _answer(
    q: HistoryQuestion, chosen: Positions, found: Standing, certificate: Certificate
) -> HistoryAnswer:
    now, before = found.top[: q.k].tolist(), q.now.top[: q.k].tolist()
    items = (q.person.history if q.rows is None else q.rows)[chosen].tolist()
    if q.rows is None:
        changed = [i for i in now if i >= 0 and i not in before]
    else:
        changed = [i for i in before[::-1] if i >= 0 and i not in now and i not in items]
    replacement = changed[0] if changed else -1
    return HistoryAnswer(
        tuple(sorted(items)), q.now.rank, found.rank, found.score, found.cutoff, replacement,
        certificate, True,
    )  # fmt: skip
