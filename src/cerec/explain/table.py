"""Answers as flat, typed columns with text, for whole blocks: no Python object per row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.explain import wording as w
from cerec.explain.evidence import HISTORY, NONE, OTHER, OWN, TOP, VALUE
from cerec.explain.explanation import Explanation
from cerec.explain.phrases import Labels, Phrases, phrases
from cerec.explain.solver import Solved

Ints = NDArray[np.integer]
CHANGE = pl.Struct(
    {"relation": pl.String, "before": pl.String, "after": pl.String, "support": pl.Int32}
)
REASON = pl.Struct({"kind": pl.String, "relation": pl.String, "id": pl.String, "part": pl.Float64})
SCHEMA: dict[str, pl.DataType] = {
    "user": pl.String(),
    "item": pl.String(),
    "k": pl.Int32(),
    "status": pl.String(),
    "by": pl.String(),
    "certificate": pl.String(),
    "counterfactual_item": pl.String(),
    "replacement": pl.String(),
    "size": pl.Int32(),
    "changes": pl.List(CHANGE),
    "history": pl.List(pl.String),
    "rank_before": pl.Int32(),
    "rank_after": pl.Int32(),
    "score_before": pl.Float64(),
    "score_after": pl.Float64(),
    "cutoff": pl.Float64(),
    "margin": pl.Float64(),
    "holds": pl.Float64(),
    "reasons": pl.List(REASON),
    "text": pl.String(),
}
"""Columns of a table of explanations, in order. Ids are the data's own; `reasons` are the three
largest parts of the score; `history` are items of the user (`by` "history")."""
_KINDS = {
    NONE: None,
    VALUE: "value",
    HISTORY: "history",
    OWN: "own",
    OTHER: "other",
}


_GAINED = w.choice("gained_code", w.GAINED).alias("gained")
_CLAUSE = pl.concat_str(w.choice("joint", w.JOINT), w.choice("change", w.CHANGE))
_IT = pl.when(pl.col("value2").is_null()).then(pl.lit("it")).otherwise(pl.col("value")).alias("it")


class Tabulator:
    """Makes tables of the answers about one subject."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        data, subject = labels.data, labels.subject
        self._users = _strings(data.users.ids)
        self._items, self._item_labels = _strings(data.items.ids), _strings(labels.item)
        self._starts = _strings([w.at_start(label) for label in labels.item])
        names = zip(labels.value_relation.tolist(), labels.value_attribute.tolist(), strict=True)
        rows = list(names)
        self._relations = _strings([data.relations.ids[r] for r, _ in rows])
        self._relation_labels = _strings([labels.relation[r] for r, _ in rows])
        self._attributes = _strings([data.entities.ids[a] for _, a in rows])
        self._value_labels = _strings([labels.value(v) for v in range(len(rows))])
        self._kinds = _strings([_KINDS[n] or "" for n in range(len(_KINDS))])
        self._support = subject.support.astype(np.int32)
        status = {"model": "verified", "none": "not_found"}.get(subject.source, subject.source)
        fixed = ["not_found", "no_attributes", "not_found", "not_recommended"]
        self._status = _strings([status, *fixed])
        source = pl.lit(w.SOURCE[subject.source])
        self._sentence = pl.concat_str(
            w.choice("opening", w.OPENING),
            w.choice("why", w.WHY),
            w.choice("counts", w.COUNTS),
            pl.lit("."),
            w.choice("outcome", w.OUTCOME),
            pl.when("found").then(source).otherwise(pl.lit("")),
        )

    def table(self, solved: Solved) -> pl.DataFrame:
        """One row per answer, with the columns of `SCHEMA`."""
        a, d = solved.answers, solved.described
        found = pl.Series(a.status == 0)
        frame = pl.DataFrame(
            {
                "user": _take(self._users, a.user),
                "item": _take(self._items, a.item),
                "k": np.full(len(a), solved.k, np.int32),
                "status": _take(self._status, a.status),
                "by": pl.repeat("attributes", len(a), eager=True),
                "certificate": pl.select(pl.when(found).then(pl.lit("minimum"))).to_series(),
                "counterfactual_item": _take(self._items, d.real),
                "replacement": _take(self._items, a.replacement),
                "size": a.steps.astype(np.int32),
                "changes": self._changes(solved),
                "history": pl.Series([[]], dtype=pl.List(pl.String)).new_from_index(0, len(a)),
                "rank_before": _positive(a.rank_before),
                "rank_after": _positive(a.rank_after),
                "score_before": _number(a.score_before),
                "score_after": _number(a.score_after),
                "cutoff": _number(a.cutoff),
                "margin": _number(a.margin),
                "holds": _number(solved.holds),
                "reasons": self._reasons(solved),
                "text": self.text(solved, phrases(solved, self._labels)),
            }
        )
        return frame.cast(dict(SCHEMA))  # type: ignore[arg-type]

    def text(self, solved: Solved, p: Phrases) -> pl.Series:
        """The sentences of all rows."""
        a, e = solved.answers, solved.evidence
        value = np.where((e.main == VALUE)[:, None], e.named, -1)
        item = np.where((e.main == HISTORY)[:, None], e.named, -1)
        frame = pl.DataFrame(
            {
                "opening": p.opening,
                "why": p.why,
                "counts": p.counts,
                "outcome": p.outcome,
                "start": _take(self._starts, a.item),
                "rank": a.rank_before,
                "k": np.full(len(a), solved.k),
                "relation": _take(self._relation_labels, value[:, 0]),
                "value": _take(self._value_labels, value[:, 0]),
                "relation2": _take(self._relation_labels, value[:, 1]),
                "value2": _take(self._value_labels, value[:, 1]),
                "h1": _take(self._item_labels, item[:, 0]),
                "h2": _take(self._item_labels, item[:, 1]),
                "h3": _take(self._item_labels, item[:, 2]),
                "count": e.held,
                "have": np.where(e.held == 1, "has", "have"),
                "of": e.of,
                "usual": _tenths(e.usual),
                "e1": _take(self._item_labels, e.example[:, 0]),
                "e2": _take(self._item_labels, e.example[:, 1]),
                "after": a.rank_after,
                "replacement": _take(self._item_labels, a.replacement),
                "changes": self._clauses(solved, p),
                "found": a.status == 0,
            }
        ).with_columns(_IT)
        return frame.select(self._sentence).to_series()

    def _clauses(self, solved: Solved, p: Phrases) -> pl.Series:
        """The changes of each row as words; null where there are none."""
        a, e = solved.answers, solved.evidence
        told = p.told
        lost, gained = a.lost[told], a.gained[told]
        frame = pl.DataFrame(
            {
                "change": p.change,
                "joint": p.joint,
                "gained_code": p.gained,
                "relation": _take(self._relation_labels, np.maximum(lost, gained)),
                "before": _take(self._value_labels, lost),
                "after": _take(self._value_labels, gained),
                "gained_count": e.change_count[told],
                "gained_usual": _tenths(e.change_usual[told]),
                "more": p.more[p.row],
            }
        ).with_columns(_GAINED)
        words = frame.select(_CLAUSE)
        return _joined(p.row, words.to_series(), len(a))

    def _changes(self, solved: Solved) -> pl.Series:
        a = solved.answers
        support = np.where(a.gained < 0, 0, self._support[a.gained]) if len(a.gained) else a.gained
        change = pl.DataFrame(
            {
                "relation": _take(self._relations, np.maximum(a.lost, a.gained)),
                "before": _take(self._attributes, a.lost),
                "after": _take(self._attributes, a.gained),
                "support": _positive(support),
            }
        ).to_struct()
        return _lists(np.repeat(np.arange(len(a)), a.size), change, len(a))

    def _reasons(self, solved: Solved) -> pl.Series:
        e = solved.evidence
        keep = (e.kind != NONE).ravel()
        kind, at, part = e.kind.ravel()[keep], e.row.ravel()[keep], e.part.ravel()[keep]
        value, item = np.where(kind == VALUE, at, -1), np.where(kind == HISTORY, at, -1)
        named = pl.DataFrame(
            {
                "kind": _take(self._kinds, kind),
                "relation": _take(self._relations, value),
                "attribute": _take(self._attributes, value),
                "item": _take(self._items, item),
                "part": part,
            }
        )
        reason = named.select("kind", "relation", id=pl.coalesce("attribute", "item"), part="part")
        row = np.repeat(np.arange(len(e.main)), e.kind.shape[1])[keep]
        return _lists(row, reason.to_struct(), len(e.main))


def frame_of(explanations: Sequence[Explanation]) -> pl.DataFrame:
    """Explanations as a table with the columns of `SCHEMA`."""
    return pl.DataFrame([_row(e) for e in explanations], schema=SCHEMA, orient="row")


def _row(e: Explanation) -> dict[str, object]:
    row = {name: getattr(e, name, None) for name in SCHEMA}
    top = sorted((r for r in e.reasons if not r.kind.startswith("usual")), key=lambda r: -r.part)
    return row | {
        "changes": [{name: getattr(c, name) for name in _CHANGE} for c in e.changes],
        "history": [n.id for n in e.history],
        "reasons": [{name: getattr(r, name) for name in _REASON} for r in top[:TOP]],
    }


_CHANGE, _REASON = ("relation", "before", "after", "support"), ("kind", "relation", "id", "part")


def _strings(values: Sequence[str]) -> pl.Series:
    """A table of strings with null at its end, for rows of -1."""
    return pl.Series([*values, None], dtype=pl.String)


def _take(table: pl.Series, rows: Ints) -> pl.Series:
    return table.gather(np.where(rows < 0, len(table) - 1, rows).astype(np.uint32))


def _positive(values: Ints) -> pl.Series:
    """Integers, null for 0."""
    return pl.select(pl.when(pl.Series(values) > 0).then(pl.Series(values))).to_series()


def _number(values: NDArray[np.float64]) -> pl.Series:
    return pl.Series(values).fill_nan(None)


def _tenths(values: NDArray[np.float64]) -> pl.Series:
    """Small numbers of things, as `wording.number_text` says them."""
    small = values < 9.95
    few = _take(_strings(w.TENTHS), np.where(small, np.rint(values * 10), 0).astype(np.int64))
    many = pl.Series(np.rint(values).astype(np.int64)).cast(pl.String)
    return few.zip_with(pl.Series(small), many)


def _joined(row: Ints, words: pl.Series, n: int) -> pl.Series:
    """Words of rising rows put together; null for rows that have none."""
    return _grouped(row, words, n, pl.col("value").str.join(""))


def _lists(row: Ints, values: pl.Series, n: int) -> pl.Series:
    """Values of rising rows as a list per row, empty for rows that have none."""
    out = _grouped(row, values, n, pl.col("value"))
    empty = pl.Series([[]], dtype=pl.List(values.dtype))
    return out.to_frame().select(pl.all().fill_null(pl.lit(empty))).to_series()


def _grouped(row: Ints, values: pl.Series, n: int, how: pl.Expr) -> pl.Series:
    frame = pl.DataFrame({"row": row, "value": values})
    grouped = frame.group_by("row", maintain_order=True).agg(how)["value"]
    there = np.zeros(n, np.int64)
    there[row] = 1
    at = np.cumsum(there) - 1
    return grouped.gather(
        pl.Series(at).zip_with(pl.Series(there > 0), pl.Series([None] * n, dtype=pl.Int64))
    )
