"""Answers by what a user did: without which items of the history would an item not be listed?

    ask = Histories(model)                  the default recommender, or one with `scores_from`
    ask.why(user, item, k=10)               the smallest set of the user's items to take away
    ask.why_not(user, item, k=10)           the fewest items to take up that bring it in

Items taken away still count as seen: they are never listed. Every answer is verified by scoring the
changed history anew and ranking everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.explain.history_asked import (
    AskedPeople,
    Asker,
    Judge,
    People,
    Verdict,
    ask_many,
    reduced,
    verdict_of,
)
from cerec.explain.history_lanes import Lanes, place
from cerec.explain.history_linear import Budget, Person, Positions, Proposal, Proposer
from cerec.recommend.linear.model import Linear
from cerec.threads import in_chunks

Certificate = Literal["minimum", "irreducible", "none", "open"]
"""Nothing smaller does it; no item can be left out; no set does it; the budget ran out: what was
found, if anything, may be larger than need be."""


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
        self._proposer: Proposer | None = None
        self._people: People
        if isinstance(model, Linear):
            self._people = Lanes(model)
            self._proposer = Proposer(model, self.budget)
            return
        histories = known if histories is None else histories
        if histories is None:
            raise ValueError("a brought recommender needs the histories of its users")
        self._people = AskedPeople(model, histories)

    def why(self, user: int, item: int, k: int = 20) -> HistoryAnswer | None:
        """Without which items it would not be listed; None where it is not."""
        return self._of_user(user, np.array([item]), k)[0]

    def why_many(
        self, users: NDArray[np.integer], items: NDArray[np.integer], k: int = 20
    ) -> list[HistoryAnswer | None]:
        """`why` for pairs of a user and an item; those of one user are cheaper together."""
        out: list[HistoryAnswer | None] = [None] * len(users)
        order = np.argsort(users, kind="stable")
        _, starts = np.unique(users[order], return_index=True)
        groups = np.split(order, starts[1:])

        def work(first: int, last: int) -> None:
            for group in groups[first:last]:
                found = self._of_user(int(users[group[0]]), items[group], k)
                for n, answer in zip(group.tolist(), found, strict=True):
                    out[n] = answer

        if len(users):
            in_chunks(len(groups), work, chunk=0 if self._proposer else len(groups))
        return out

    def why_not(self, user: int, item: int, k: int = 20) -> HistoryAnswer | None:
        """What to take up for it to be listed; None where it is, or may not be."""
        person = self._person(user)
        if person.seen[item] or np.isnan(person.scores[item]):
            return None
        rank, top = _standing(person, item, k)
        if rank <= k:
            return None
        rows = np.flatnonzero(~person.seen & ~np.isnan(person.scores))
        judge = Judge(self._people, person, item, k, rows[rows != item])
        if judge.rows is None or len(judge.rows) == 0:
            return _nothing(judge, rank, "none")
        if self._proposer is None:
            return self._asked(judge, rank, top)
        proposal = self._proposer.up(person, item, k, judge.rows)
        for chosen, verdict in zip(proposal.sets, judge.ask(proposal.sets), strict=True):
            if judge.does(verdict):
                proven = len(chosen) == 1 or (len(chosen) == 2 and proposal.proven)
                return self._settled(judge, chosen, proven, rank, top)
        return self._asked(judge, rank, top)

    def _person(self, user: int) -> Person:
        history, weight = self._people.history(user)
        scores = self._people.now(user)
        seen = np.zeros(len(scores), bool)
        seen[history] = True
        if self._known is not None:
            seen[self._known.row(user)] = True
        return Person(history, weight, scores, seen)

    def _of_user(self, user: int, items: NDArray[np.integer], k: int) -> list[HistoryAnswer | None]:
        person = self._person(user)
        out: list[HistoryAnswer | None] = [None] * len(items)
        standing = [_standing(person, item, k) for item in items.tolist()]
        may = ~person.seen[items] & ~np.isnan(person.scores[items])
        listed = np.array([n for n, (rank, _) in enumerate(standing) if rank <= k and may[n]], int)
        if len(listed) == 0:
            return out
        judges = [Judge(self._people, person, item, k) for item in items[listed].tolist()]
        if self._proposer is None or len(person.history) == 0:
            for n, judge in zip(listed.tolist(), judges, strict=True):
                out[n] = self._asked(judge, *standing[n])
            return out
        proposals = self._proposer.away(person, items[listed], k)
        for n, judge, proposal, hit in zip(
            listed.tolist(), judges, proposals, _tried(judges, proposals), strict=True
        ):
            out[n] = self._concluded(judge, proposal, hit, *standing[n])
        return out

    def _concluded(
        self,
        judge: Judge,
        proposal: Proposal,
        hit: tuple[Positions, Verdict] | None,
        rank: int,
        top: Positions,
    ) -> HistoryAnswer:
        if hit is not None:
            proven = proposal.proven or len(hit[0]) == 1
            return self._settled(judge, hit[0], proven, rank, top, hit[1])
        if proposal.none:
            return _nothing(judge, rank, "none")
        return self._asked(judge, rank, top)

    def _asked(self, judge: Judge, rank: int, top: Positions) -> HistoryAnswer:
        """By asking alone."""
        if judge.n_choices == 0:
            return _nothing(judge, rank, "none")
        asker = Asker(judge, self.budget.asked)
        if self._proposer is None or judge.rows is not None:
            proposal = asker.find()
        else:
            proposal = asker.along(self._proposer.order(judge.person, judge.item, judge.k))
        if not proposal.sets:
            return _nothing(judge, rank, "none" if proposal.none else "open")
        return self._settled(judge, proposal.sets[0], proposal.proven, rank, top)

    def _settled(
        self,
        judge: Judge,
        chosen: Positions,
        proven: bool,
        rank: int,
        top: Positions,
        verdict: Verdict | None = None,
    ) -> HistoryAnswer:
        certificate: Certificate = "minimum"
        if not proven:
            before = len(chosen)
            chosen, ended = reduced(judge, chosen, self.budget.asked)
            verdict = verdict if before == len(chosen) else None
            if len(chosen) > 1:
                certificate = "irreducible" if ended else "open"
        verdict = judge.ask([chosen])[0] if verdict is None else verdict
        return _answer(judge, chosen, certificate, rank, top, verdict)


def _standing(person: Person, item: int, k: int) -> tuple[int, Positions]:
    top = np.empty(k, np.int64)
    return int(place(person.scores, person.seen, item, top)), top


def _tried(
    judges: Sequence[Judge], proposals: Sequence[Proposal]
) -> list[tuple[Positions, Verdict] | None]:
    """The first set of each proposal that does it, all of one user scored together."""
    out: list[tuple[Positions, Verdict] | None] = [None] * len(judges)
    left, turn = [n for n, p in enumerate(proposals) if p.sets], 0
    while left:
        lanes = judges[0].people.n_lanes
        for start in range(0, len(left), lanes):
            part = left[start : start + lanes]
            asked = [(judges[n], proposals[n].sets[turn]) for n in part]
            for n, verdict in zip(part, ask_many(asked), strict=True):
                if judges[n].does(verdict):
                    out[n] = proposals[n].sets[turn], verdict
        turn += 1
        left = [n for n in left if out[n] is None and len(proposals[n].sets) > turn]
    return out


def _nothing(judge: Judge, rank: int, why: Certificate) -> HistoryAnswer:
    now = verdict_of(judge.person.scores, judge.person.seen, judge.item, judge.k)
    return HistoryAnswer((), rank, rank, now.score, now.cutoff, -1, why, False)


def _answer(
    judge: Judge,
    chosen: Positions,
    certificate: Certificate,
    rank: int,
    top: Positions,
    verdict: Verdict,
) -> HistoryAnswer:
    now, before = verdict.top[: judge.k].tolist(), top.tolist()
    if judge.rows is None:
        items = judge.person.history[chosen].tolist()
        changed = [i for i in now if i >= 0 and i not in before]
    else:
        items = judge.rows[chosen].tolist()
        changed = [i for i in before[::-1] if i >= 0 and i not in now and i not in items]
    return HistoryAnswer(
        tuple(sorted(items)),
        rank,
        verdict.rank,
        verdict.score,
        verdict.cutoff,
        changed[0] if changed else -1,
        certificate,
        True,
    )
