"""A dataset as plain tables, the way a person would write them.

A value `Drama` of relation `genre` stands bare in the column `genre` when its id is
`genre:Drama`; other entities stand by their id and are listed in `entities`. What no cell can
hold goes to `triples`.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.frames import PARTS
from cerec.data.ids import IdTable
from cerec.data.names import relation_names
from cerec.data.values import SEPARATOR

_RESERVED = {"item", "name"}


def frames(data: Dataset) -> dict[str, pl.DataFrame]:
    """The tables by name; those that would say nothing are left out."""
    items, triples, listed = _facts(data)
    out = {"interactions": interaction_frame(data), "items": items}
    lonely = np.bincount(data.interactions.user, minlength=len(data.users)) == 0
    if lonely.any() or data.users.names != data.users.ids or data.user_columns:
        columns = [pl.Series(n, c.tolist(), pl.String) for n, c in data.user_columns.items()]
        out["users"] = id_frame("user", data.users).with_columns(columns)
    if len(listed):
        out["entities"] = listed
    if _relations_needed(data):
        out["relations"] = id_frame("relation", data.relations)
    if len(triples):
        out["triples"] = triples
    if data.planted is not None:
        out["planted"] = planted_frame(data)
    return out


def id_frame(kind: str, table: IdTable) -> pl.DataFrame:
    """Ids and names."""
    return pl.DataFrame({kind: table.ids, "name": table.names}, schema=_text(kind, "name"))


def interaction_frame(data: Dataset, codes: Any = None) -> pl.DataFrame:
    """`user,item[,rating][,timestamp][,part]`, rows in the order of the dataset."""
    i = data.interactions
    columns: dict[str, Any] = {
        "user": texts(data.users.ids, i.user),
        "item": texts(data.items.ids, i.item),
    }
    if i.rating is not None:
        columns["rating"] = _plain(i.rating)
    if i.time is not None:
        columns["timestamp"] = _plain(i.time)
    if i.part is not None and codes is None:
        columns["part"] = texts(tuple(PARTS), i.part)
    return pl.DataFrame(columns)


def planted_frame(data: Dataset) -> pl.DataFrame:
    """`user,relation,attribute,sign` of the planted likes and dislikes."""
    p = data.planted
    if p is None:
        raise ValueError("no planted likes")
    return pl.DataFrame(
        {
            "user": texts(data.users.ids, p.user),
            "relation": texts(data.relations.ids, p.relation),
            "attribute": texts(data.entities.ids, p.attribute),
            "sign": p.sign,
        }
    )


def texts(ids: tuple[str, ...], rows: NDArray[np.integer]) -> pl.Series:
    """The ids of rows."""
    return (
        pl.Series(ids, dtype=pl.String).gather(rows)
        if len(rows)
        else pl.Series([], dtype=pl.String)
    )


def _text(*columns: str) -> dict[str, Any]:
    return dict.fromkeys(columns, pl.String)


def _plain(values: NDArray[np.floating]) -> pl.Series:
    """Whole numbers without a point, where all are whole."""
    if np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53):
        return pl.Series(values.astype(np.int64))
    return pl.Series(values)


def _relations_needed(data: Dataset) -> bool:
    """True when names or unused relations would be lost without a table of relations."""
    used = np.bincount(data.triples.relation, minlength=len(data.relations)) > 0
    default = relation_names(data.relations.ids, {})
    return not used.all() or data.relations.names != tuple(default[r] for r in data.relations)


def _facts(data: Dataset) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The frames of items, of other triples, and of listed entities."""
    t, n_items = data.triples, len(data.items)
    column = np.array([r not in _RESERVED and r == r.strip() for r in data.relations] or [False])
    is_cell = (t.head < n_items) & (t.tail >= n_items)
    is_cell &= column[t.relation] if len(t) else False
    pairs = np.unique(np.stack([t.relation, t.tail - n_items])[:, is_cell], axis=1)
    cell = _cells(data, pairs)
    key = t.relation.astype(np.int64) * max(len(data.entities), 1) + t.tail - n_items
    place = np.full(len(t), -1, np.int64)
    known = pairs[0].astype(np.int64) * max(len(data.entities), 1) + pairs[1]
    place[is_cell] = np.searchsorted(known, key[is_cell])
    written = np.array([c is not None for c in cell.texts], bool)
    is_cell[is_cell] = written[place[is_cell]]
    frame = pl.DataFrame(
        {
            "head": t.head[is_cell],
            "relation": t.relation[is_cell],
            "text": pl.Series(cell.texts, dtype=pl.String).gather(place[is_cell]),
        }
    )
    return _items(data, frame), _triples(data, ~is_cell), cell.listed


class _Cells:
    def __init__(self, texts: list[str | None], listed: pl.DataFrame) -> None:
        self.texts, self.listed = texts, listed


def _cells(data: Dataset, pairs: NDArray[np.int32]) -> _Cells:
    """The text in a cell of each (relation, entity) pair, None where a cell cannot hold it."""
    ids, names = data.entities.ids, data.entities.names
    bare: dict[int, str] = {}
    rows = list(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))
    for r, e in rows:
        if ids[e] == f"{data.relations[r]}:{names[e]}" and _fits(names[e]):
            bare[e] = data.relations[r]
    listed = {ids[e] for e in range(len(ids)) if e not in bare}
    # a bare value that is also a listed id would mean that entity: list it too, and so on
    while clash := [e for e in bare if names[e] in listed]:
        listed |= {ids[e] for e in clash}
        for e in clash:
            del bare[e]
    cells: list[str | None] = []
    for r, e in rows:
        if bare.get(e) == data.relations[r]:
            cells.append(names[e])
        else:
            cells.append(ids[e] if ids[e] in listed and _fits(ids[e]) else None)
    keep = [e for e in range(len(ids)) if ids[e] in listed]
    columns = {"entity": [ids[e] for e in keep], "name": [names[e] for e in keep]}
    return _Cells(cells, pl.DataFrame(columns, schema=_text("entity", "name")))


def _fits(text: str) -> bool:
    """True when a cell with this value gives it back."""
    return bool(text) and SEPARATOR not in text and text == _stripped(text)


def _stripped(text: str) -> str:
    return str(pl.Series([text]).str.strip_chars()[0]) if not text.isprintable() else text.strip()


def _items(data: Dataset, facts: pl.DataFrame) -> pl.DataFrame:
    """A row an item, a column a relation, values joined."""
    out = id_frame("item", data.items)
    for r in facts["relation"].unique().sort().to_list():
        of_r = facts.filter(pl.col("relation") == r)
        cells = of_r.group_by("head", maintain_order=True).agg(pl.col("text").str.join(SEPARATOR))
        column = np.full(len(data.items), None, object)
        column[cells["head"].to_numpy()] = cells["text"].to_numpy()
        out = out.with_columns(pl.Series(data.relations[r], column.tolist(), dtype=pl.String))
    return out


def _triples(data: Dataset, keep: NDArray[np.bool_]) -> pl.DataFrame:
    nodes, t = (*data.items.ids, *data.entities.ids), data.triples
    return pl.DataFrame(
        {
            "head": texts(nodes, t.head[keep]),
            "relation": texts(data.relations.ids, t.relation[keep]),
            "tail": texts(nodes, t.tail[keep]),
        }
    )


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """A frame as CSV or Parquet, by the ending of `path`."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
        return
    text = frame.write_csv()
    if "\r" in text:  # polars leaves carriage returns outside quotes
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(frame.columns)
        writer.writerows(frame.iter_rows())
        text = buffer.getvalue()
    path.write_bytes(text.encode("utf-8"))
