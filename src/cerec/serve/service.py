"""Questions about one run and their answers as plain values; no HTTP here.

The run is only read, and what is computed once is computed under a lock, so any number of
threads may ask at the same time. Equal questions get equal answers: how long an answer took is
not part of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.ids import IdTable
from cerec.errors import QuestionError
from cerec.explain.explanation import Explanation
from cerec.runs.questions import GUEST
from cerec.serve.overview import audited, overview, run_facts, tried
from cerec.serve.search import Index

if TYPE_CHECKING:
    from cerec.runs.run import Run

Page = dict[str, Any]


class Service:
    """One run, ready to be asked."""

    @property
    def now(self) -> Service:
        """The service that answers: itself."""
        return self

    def __init__(self, run: Run) -> None:
        self._run, self.version = run, run.version
        data, facts = run.data, run.facts
        self._seen = run.known
        popularity = np.bincount(self._seen.indices, minlength=len(data.items))
        self._users = Index(data.users.ids, data.users.names, self._seen.counts)
        self._items = Index(data.items.ids, data.items.names, popularity)
        self._popularity = popularity
        self._holders = facts.holders.counts
        self._values = {
            relation: np.flatnonzero(facts.relation == row)
            for row, relation in enumerate(data.relations)
        }
        self._value_index: dict[str, Index] = {}
        self._long: dict[str, Future[Page]] = {}
        self._once, self._one = threading.Lock(), threading.Lock()
        self._warm()

    def _warm(self) -> None:
        """Ask each kind of question once, so that kernels are compiled before anyone waits."""
        for user in self._run.data.users[:1]:
            for listed in self._run.recommend(user, 1):
                self._run.explain(user, listed.item, k=1, alternatives=1)
                self._run.what_if(user, listed.item, self._run.attributes(listed.item), k=1)

    # -- finding ---------------------------------------------------------------------------------

    def users(self, query: str, limit: int, offset: int) -> Page:
        """Users by id or name; those with the longest history first."""
        rows = self._users.find(query)
        table, counts = self._run.data.users, self._seen.counts
        return _page(
            [{**_named(table, r), "history": int(counts[r])} for r in rows[offset:][:limit]],
            len(rows),
        )

    def items(self, query: str, limit: int, offset: int) -> Page:
        """Items by id or name; the most taken first."""
        rows = self._items.find(query)
        table = self._run.data.items
        return _page(
            [
                {**_named(table, r), "users": int(self._popularity[r])}
                for r in rows[offset:][:limit]
            ],
            len(rows),
        )

    def values(self, relation: str, query: str, limit: int, offset: int) -> Page:
        """Attributes that items have by `relation`; the most held first."""
        self._run.data.relations.row(relation)  # refuses an unknown relation with near matches
        values, index = self._values[relation], self._index_of(relation)
        entities, attribute = self._run.data.entities, self._run.facts.attribute
        rows = index.find(query)
        found = [
            {**_named(entities, int(attribute[v])), "items": int(self._holders[v])}
            for v in values[rows[offset:][:limit]]
        ]
        return _page(found, len(rows))

    def _index_of(self, relation: str) -> Index:
        with self._once:
            if relation not in self._value_index:
                values = self._values[relation]
                entities = self._run.data.entities
                rows = self._run.facts.attribute[values].tolist()
                ids, names = [entities.ids[r] for r in rows], [entities.names[r] for r in rows]
                self._value_index[relation] = Index(ids, names, self._holders[values])
            return self._value_index[relation]

    # -- one user --------------------------------------------------------------------------------

    def history(self, user: str, limit: int, offset: int) -> Page:
        """What the user took, as far as the recommender knows."""
        row = self._run.data.users.row(user)
        items = self._seen.row(row)
        table = self._run.data.items
        page = _page([_named(table, int(i)) for i in items[offset:][:limit]], len(items))
        return {"user": _named(self._run.data.users, row), **page}

    def recommendations(self, user: str | None, history: list[str] | None, k: int) -> Page:
        """The first k items, best first, of a user or of somebody with this history."""
        if (user is None) == (history is None):
            raise QuestionError("give user, or history for somebody who is not in the data")
        if history is not None:
            name, listed = {"id": GUEST, "name": GUEST}, self._run.recommend_for(history, k)
        else:
            name = _named(self._run.data.users, self._run.data.users.row(user))
            listed = self._run.recommend(user, k)
        found = [
            {"item": r.item, "name": r.name, "score": r.score, "rank": r.rank}
            | {"about": self._about(self._run.data.items.row(r.item))}
            for r in listed
        ]
        return {"user": name, "k": k, "results": found}

    @cached_property
    def _telling(self) -> NDArray[np.int64]:
        """(R,) the place of each relation, first those whose values many items share."""
        facts, n = self._run.facts, len(self._run.data.relations)
        items = np.bincount(facts.relation, facts.holders.counts, n)
        return np.argsort(
            np.argsort(-items / np.maximum(np.bincount(facts.relation, minlength=n), 1))
        )

    def _about(self, row: int) -> str:
        """What an item is, in a few of its attributes."""
        data, facts = self._run.data, self._run.facts
        values = facts.of_item.row(row)
        first = values[np.argsort(self._telling[facts.relation[values]], kind="stable")]
        return " · ".join(data.entities.name(int(a)) for a in facts.attribute[first[:4]])

    # -- one item --------------------------------------------------------------------------------

    def attributes(self, item: str, user: str | None) -> Page:
        """What is known of an item; with a user also what each attribute adds to the score.

        `pull` is how much the score would lose if that attribute alone were removed.
        """
        run = self._run
        row = run.data.items.row(item)
        values = run.facts.of_item.row(row)
        pulls: list[float | None] = [None] * len(values)
        if user is not None:
            pulls = self._pulls(run.data.users.row(user), row, values)
        found = [
            {
                "relation": _named(run.data.relations, int(run.facts.relation[v])),
                "attribute": _named(run.data.entities, int(run.facts.attribute[v])),
                "items": int(self._holders[v]),
                "pull": pull,
            }
            for v, pull in zip(values, pulls, strict=True)
        ]
        return {"item": _named(run.data.items, row), **_page(found, len(found))}

    def _pulls(self, user: int, item: int, values: NDArray[np.int32]) -> list[float | None]:
        """What each value of the item adds to its score; None for values too rare to count."""
        if len(values) == 0:
            return []
        subject = self._run.subject
        effect = subject.scale[item] * subject.both(np.array([user]))[1][0]
        place = {int(v): n for n, v in enumerate(subject.vocabulary)}
        return [float(effect[place[v]]) if v in place else None for v in values.tolist()]

    def explanation(self, user: str | None = None, **question: Any) -> Explanation:
        """`Run.explain`."""
        question["lock"] = tuple(question.get("lock", ()))
        return self._run.explain(user, **question)

    def explanations(self, pairs: list[tuple[str, str]], **question: Any) -> list[Explanation]:
        """`Run.explain_many`."""
        question["lock"] = tuple(question.get("lock", ()))
        return list(self._run.explain_many(pairs, **question))

    def what_if(self, item: str, attributes: Iterable[tuple[str, str]], k: int, **who: Any) -> Page:
        """`Run.what_if` as a plain value, of a `user` or of a `history`."""
        return self._run.what_if(item=item, attributes=list(attributes), k=k, **who).to_dict()

    # -- the run ---------------------------------------------------------------------------------

    def facts(self) -> Page:
        """Data, model, metrics and settings of the run."""
        return run_facts(self._run)

    def overview(self) -> Future[Page]:
        """Training curves, and coverage and sizes of explanations over a sample of users."""
        return self._later("overview", lambda: overview(self._run))

    def audit(self) -> Future[Page]:
        """What the lists depend on, over a sample of users."""
        return self._later("audit", lambda: audited(self._run))

    def trial(self, relation: str) -> Future[Page]:
        """Whether this relation decides who is shown, over a sample of users."""
        self._run.data.relations.row(relation)  # refuses an unknown relation with near matches
        return self._later(f"trial {relation}", lambda: tried(self._run, relation))

    def _later(self, name: str, work: Callable[[], Page]) -> Future[Page]:
        """Worked out once, on a thread of its own, from when someone first asks."""
        with self._once:
            if name not in self._long:
                self._long[name] = found = Future[Page]()
                threading.Thread(target=self._fill, args=(found, work), daemon=True).start()
            return self._long[name]

    def _fill(self, found: Future[Page], work: Callable[[], Page]) -> None:
        try:
            with self._one:
                found.set_result(work())
        except BaseException as error:  # whoever waits has to hear of it
            found.set_exception(error)


def timeless(explanation: Explanation) -> Page:
    """An explanation as a plain value, without `seconds`."""
    plain = explanation.to_dict()
    todo = [plain]
    while todo:
        one = todo.pop()
        del one["seconds"]
        todo += [
            *one["alternatives"],
            *one["by_relation"],
            *([one["beside"]] if one["beside"] else []),
        ]
    return plain


def _page(results: list[dict[str, Any]], total: int) -> Page:
    return {"total": total, "results": results}


def _named(table: IdTable, row: int) -> dict[str, str]:
    return {"id": table.ids[row], "name": table.names[row]}
