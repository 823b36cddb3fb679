"""A dataset as RecBole atomic files; facts go to `.kg`, each item linked to a node of its id."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from cerec.data.dataset import Dataset
from cerec.data.escape import escape, mark, needs_escape
from cerec.data.writers.tables import (
    id_frame,
    interaction_frame,
    planted_frame,
    texts,
    write_frame,
)

_NAME = "data"


def write_recbole(data: Dataset, folder: Path) -> None:
    """Write the files of `data` into an existing folder."""
    tables = {"user": data.users, "item": data.items, "entity": data.entities}
    every = {**tables, "relation": data.relations}
    more = [pl.Series(n, c.tolist(), pl.String) for n, c in data.user_columns.items()]
    special = any(needs_escape([*table.ids, *table.names]) for table in every.values())
    special |= any(needs_escape(column.to_list()) for column in more)
    if special:
        mark(folder)
    pairs = interaction_frame(data).rename({"user": "user_id", "item": "item_id"})
    kinds = {"rating": "float", "timestamp": "float"}
    _write(folder / f"{_NAME}.inter", pairs, special, kinds)
    for kind, table in every.items():
        frame = id_frame(f"{kind}_id", table).with_columns(more if kind == "user" else ())
        _write(folder / f"{_NAME}.{kind}", frame, special, {"name": "token_seq"})
    t, n_items = data.triples, len(data.items)
    linked = np.unique(np.concatenate([t.head, t.tail]))
    own = texts(data.items.ids, linked[linked < n_items])
    _write(folder / f"{_NAME}.link", pl.DataFrame({"item_id": own, "entity_id": own}), special, {})
    nodes = (*data.items.ids, *data.entities.ids)
    facts = {
        "head_id": texts(nodes, t.head),
        "relation_id": texts(data.relations.ids, t.relation),
        "tail_id": texts(nodes, t.tail),
    }
    _write(folder / f"{_NAME}.kg", pl.DataFrame(facts), special, {})
    if data.planted is not None:
        write_frame(planted_frame(data), folder / "planted.csv")


def _write(path: Path, frame: pl.DataFrame, special: bool, kinds: dict[str, str]) -> None:
    """Tab-separated, with types in the header."""
    if special:
        text = [c for c in frame.columns if frame[c].dtype == pl.String]
        plain = {c: [escape(v) for v in frame[c]] for c in text}
        frame = frame.with_columns(pl.Series(c, v, dtype=pl.String) for c, v in plain.items())
    header = "\t".join(f"{c}:{kinds.get(c, 'token')}" for c in frame.columns)
    body = frame.write_csv(separator="\t", include_header=False, quote_style="never")
    path.write_bytes(f"{header}\n{body}".encode())
