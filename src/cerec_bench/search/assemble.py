"""From row numbers to an explanation with ids and names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec_bench.search.explanation import Change, Explanation, FoundBy, Named, Step, filled
from cerec_bench.search.proposer import walk_to
from cerec_bench.search.verifier import Outcome, Task
from cerec_bench.search.wording import sentence


class Assembler:
    """Turns outcomes about one data set into explanations."""

    def __init__(self, data: Dataset, facts: Facts, fidelity: float | None) -> None:
        self._data, self._facts, self._fidelity = data, facts, fidelity
        self._pairs = [
            (data.relations[r], data.entities[a])
            for r, a in zip(facts.relation.tolist(), facts.attribute.tolist(), strict=True)
        ]

    def explanation(
        self,
        user: int,
        task: Task,
        outcome: Outcome,
        *,
        found_by: FoundBy | None = None,
        path: NDArray[np.int32] | None = None,
        similarity: float | None = None,
        bound: int | None = None,
        seconds: float = 0.0,
    ) -> Explanation:
        """The explanation; `path` is the proposer's walk, the shortest one stands in for none."""
        data, j = self._data, outcome.candidate
        if j is not None and (path is None or len(path) == 0):
            path = walk_to(self._facts, task.item, j)
        bare = Explanation(
            user=data.users[user],
            item=data.items[task.item],
            k=task.k,
            status=outcome.status,
            counterfactual_item=None if j is None else data.items[j],
            replacement=None if outcome.replacement is None else data.items[outcome.replacement],
            changes=self._changes(task.item, outcome),
            path=() if path is None else self._path(task.item, path),
            rank_before=outcome.rank_before,
            rank_after=outcome.rank_after,
            score_before=outcome.score_before,
            score_after=outcome.score_after,
            cutoff=outcome.cutoff,
            certificate=outcome.certificate,
            text="",
            seconds=seconds,
            question=task.question,
            names=self._names(user, task.item, outcome),
            target=() if j is None else self._target(task.item, j),
            similarity=similarity,
            found_by=found_by if outcome.status == "verified" else None,
            bound=bound,
            fidelity=self._fidelity,
        )
        return filled(bare, text=sentence(bare))

    def _changes(self, item: int, outcome: Outcome) -> tuple[Change, ...]:
        if outcome.before is None or outcome.after is None:
            return ()
        own = self._facts.relation[self._facts.of_item.row(item)]
        out = []
        for lost, gained in zip(outcome.before.tolist(), outcome.after.tolist(), strict=True):
            out.append(self._change(own, lost, gained))
        return tuple(out)

    def _change(self, own: NDArray[np.int32], lost: int, gained: int) -> Change:
        facts, data = self._facts, self._data
        relation = int(facts.relation[lost if lost >= 0 else gained])
        before = None if lost < 0 else int(facts.attribute[lost])
        after = None if gained < 0 else int(facts.attribute[gained])
        return Change(
            relation=data.relations[relation],
            before=None if before is None else data.entities[before],
            after=None if after is None else data.entities[after],
            relation_name=data.relations.name(relation),
            before_name=None if before is None else data.entities.name(before),
            after_name=None if after is None else data.entities.name(after),
            values_before=int((own == relation).sum()),
        )

    def _target(self, item: int, candidate: int) -> tuple[tuple[str, str], ...]:
        own = set(self._facts.of_item.row(item).tolist())
        other = self._facts.of_item.row(candidate).tolist()
        return tuple(self._pairs[v] for v in other if v not in own)

    def _names(self, user: int, item: int, outcome: Outcome) -> tuple[Named, ...]:
        data = self._data
        found = [_named(data.users, user), _named(data.items, item)]
        found += [
            _named(data.items, row)
            for row in (outcome.candidate, outcome.replacement)
            if row is not None
        ]
        return tuple(found)

    def _path(self, item: int, path: NDArray[np.int32]) -> tuple[Step, ...]:
        steps = []
        for attribute, to_item in path.tolist():
            if attribute < 0:
                break
            steps.append(
                Step(
                    item=_named(self._data.items, item),
                    relation=self._relation(item, attribute, to_item),
                    attribute=_named(self._data.entities, attribute),
                    to_relation=self._relation(to_item, attribute, item),
                    to_item=_named(self._data.items, to_item),
                )
            )
            item = to_item
        return tuple(steps)

    def _relation(self, item: int, attribute: int, other: int) -> Named:
        """The relation by which the item has the attribute, one that `other` shares if any."""
        values = self._facts.of_item.row(item)
        by = values[self._facts.attribute[values] == attribute].tolist()
        value = by[0]
        if len(by) > 1:
            theirs = set(self._facts.of_item.row(other).tolist())
            value = next((v for v in by if v in theirs), value)
        return _named(self._data.relations, int(self._facts.relation[value]))


def _named(table: IdTable, row: int) -> Named:
    return Named(table[row], table.name(row))
