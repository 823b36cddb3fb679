"""A dataset as a folder of plain tables, the way a person would write them.

A value `Drama` of relation `genre` stands bare in the column `genre` when its id is `genre:Drama`.
Other entities stand by their id and are listed in `entities`. What no cell can hold goes to
`triples`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.asides import Unwritten
from cerec.data.build import PARTS
from cerec.data.dataset import Dataset
from cerec.data.ids import IdTable
from cerec.data.readers.tables import MARK
from cerec.data.values import SEPARATOR
from cerec.errors import DataError, one_of
from cerec.files import replacing, write_json

ENDINGS = {"tables": ".csv", "parquet": ".parquet"}
_RESERVED = {"item", "name"}


def write(data: Dataset, folder: str | Path, format: str = "tables") -> Path:
    """Write `data` to a new or empty folder; nothing is left behind when it fails.

    `format` is "tables" (CSV) or "parquet". `load(folder)` gives the same dataset back.
    """
    one_of("format", format, sorted(ENDINGS))
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: is there already; name a new folder, or empty it first")
    try:
        with replacing(target, folder=True) as aside:
            aside.mkdir()
            write_json(aside / MARK, {"exact": True})
            for name, frame in _frames(data).items():
                _write_frame(frame, aside / f"{name}{ENDINGS[format]}")
    except Unwritten as error:
        raise DataError(f"{error}; name another folder") from None
    return target


def _frames(data: Dataset) -> dict[str, pl.DataFrame]:
    """The tables by name; those that would say nothing are left out."""
    items, triples, entities = _facts(data)
    out = {"interactions": _interactions(data), "items": items}
    lonely = np.bincount(data.interactions.user, minlength=len(data.users)) == 0
    if lonely.any() or data.users.names != data.users.ids or data.user_columns:
        columns = [pl.Series(n, c.tolist(), pl.String) for n, c in data.user_columns.items()]
        out["users"] = _names("user", data.users).with_columns(columns)
    if len(entities):
        out["entities"] = entities
    if len(data.relations):
        out["relations"] = _names("relation", data.relations)
    if len(triples):
        out["triples"] = triples
    if (p := data.planted) is not None:
        planted = {
            "user": _texts(data.users.ids, p.user),
            "relation": _texts(data.relations.ids, p.relation),
            "attribute": _texts(data.entities.ids, p.attribute),
        }
        out["planted"] = pl.DataFrame(planted).with_columns(pl.Series("sign", p.sign))
    return out


def _names(kind: str, table: IdTable) -> pl.DataFrame:
    return pl.DataFrame({kind: table.ids, "name": table.names}, schema=_text(kind, "name"))


def _interactions(data: Dataset) -> pl.DataFrame:
    """`user,item[,rating][,timestamp][,part]`, rows in the order of the dataset."""
    i = data.interactions
    columns: dict[str, Any] = {
        "user": _texts(data.users.ids, i.user),
        "item": _texts(data.items.ids, i.item),
    }
    if i.rating is not None:
        columns["rating"] = _plain(i.rating)
    if i.time is not None:
        columns["timestamp"] = _plain(i.time)
    if i.part is not None:
        columns["part"] = _texts(tuple(PARTS), i.part)
    return pl.DataFrame(columns)


def _texts(ids: Sequence[str], rows: NDArray[np.integer]) -> pl.Series:
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


def _facts(data: Dataset) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The frames of items, of other triples, and of listed entities."""
    t, n_items, ids = data.triples, len(data.items), data.entities.ids
    cells: dict[tuple[int, int], str | None] = {}
    of_item = (t.head < n_items) & (t.tail >= n_items)
    columns = [r not in _RESERVED and r == r.strip() for r in data.relations]
    texts: list[str | None] = []
    for row, (r, e) in enumerate(
        zip(t.relation.tolist(), (t.tail - n_items).tolist(), strict=True)
    ):
        if not (of_item[row] and columns[r]):
            texts.append(None)
            continue
        if (r, e) not in cells:
            cells[r, e] = _cell(data, r, e)
        texts.append(cells[r, e])
    bare = {e for (r, e), text in cells.items() if text not in (None, ids[e])}
    by_id = {e for (r, e), text in cells.items() if text == ids[e]}
    listed = set(range(len(ids))) - (bare - by_id)
    keep = np.array(sorted(listed), np.int64)
    entities = {"entity": _texts(ids, keep), "name": _texts(data.entities.names, keep)}
    held = np.array([text is not None for text in texts], bool)
    frame = pl.DataFrame(
        {"head": t.head, "relation": t.relation, "text": pl.Series(texts, dtype=pl.String)}
    )
    return _items(data, frame.filter(held)), _triples(data, ~held), pl.DataFrame(entities)


def _cell(data: Dataset, relation: int, entity: int) -> str | None:
    """The text of an entity in a cell of its relation; None where a cell cannot hold it."""
    i, name = data.entities.ids[entity], data.entities.names[entity]
    if i == f"{data.relations[relation]}:{name}" and _fits(name) and name not in data.entities:
        return name
    return i if _fits(i) else None


def _fits(text: str) -> bool:
    """True when a cell with this value gives it back."""
    return bool(text) and SEPARATOR not in text and text == _stripped(text)


def _stripped(text: str) -> str:
    return str(pl.Series([text]).str.strip_chars()[0]) if not text.isprintable() else text.strip()


def _items(data: Dataset, facts: pl.DataFrame) -> pl.DataFrame:
    """A row an item, a column a relation, values joined."""
    out = _names("item", data.items)
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
            "head": _texts(nodes, t.head[keep]),
            "relation": _texts(data.relations.ids, t.relation[keep]),
            "tail": _texts(nodes, t.tail[keep]),
        }
    )


def _write_frame(frame: pl.DataFrame, path: Path) -> None:
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
