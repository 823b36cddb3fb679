"""A dataset as a KGAT folder.

Beyond KGAT's own files: lists have a `name` column; `train.rating.txt` and `train.time.txt` (and
so for the other parts) follow the lines of `train.txt`; `planted.csv` holds a planted truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.escape import escape, mark, needs_escape
from cerec.data.frames import PARTS
from cerec.data.writers.tables import planted_frame, write_frame


def write_kgat(data: Dataset, folder: Path) -> None:
    """Write the files of `data` into an existing folder."""
    tables = (data.users, data.items, data.entities, data.relations)
    special = any(needs_escape([*table.ids, *table.names]) for table in tables)
    if special:
        mark(folder)
    _write_parts(data, folder)
    t = data.triples
    facts = pl.DataFrame({"head": t.head, "relation": t.relation, "tail": t.tail})
    facts.write_csv(folder / "kg_final.txt", separator=" ", include_header=False)
    nodes = (*data.items.ids, *data.entities.ids), (*data.items.names, *data.entities.names)
    _write_list(folder / "user_list.txt", data.users.ids, data.users.names, special)
    _write_list(folder / "item_list.txt", data.items.ids, data.items.names, special)
    _write_list(folder / "entity_list.txt", *nodes, special)
    _write_list(folder / "relation_list.txt", data.relations.ids, data.relations.names, special)
    if data.planted is not None:
        write_frame(planted_frame(data), folder / "planted.csv")


def _write_list(path: Path, ids: Sequence[str], names: Sequence[str], special: bool) -> None:
    texts = ((escape(i), escape(n)) for i, n in zip(ids, names, strict=True)) if special else None
    rows = enumerate(texts or zip(ids, names, strict=True))
    lines = ["org_id\tremap_id\tname", *(f"{i}\t{number}\t{name}" for number, (i, name) in rows)]
    path.write_bytes(("\n".join(lines) + "\n").encode("utf-8"))


def _write_parts(data: Dataset, folder: Path) -> None:
    """One interactions file, or three when the data came in parts."""
    i = data.interactions
    empty = np.flatnonzero(np.bincount(i.user, minlength=len(data.users)) == 0)
    for name, code in PARTS.items():
        if i.part is None and name != "train":
            continue
        rows = np.arange(len(i)) if i.part is None else np.flatnonzero(i.part == code)
        own = empty if name == "train" else empty[:0]
        _write_ragged(folder / f"{name}.txt", i.user[rows], i.item[rows], own)
        for column, values in (("rating", i.rating), ("time", i.time)):
            if values is not None:
                _write_ragged(folder / f"{name}.{column}.txt", i.user[rows], values[rows], own)


def _write_ragged(
    path: Path, user: NDArray[np.int32], values: NDArray[np.generic], empty: NDArray[np.int64]
) -> None:
    """A line a user, `user value value ...`; users of `empty` alone on theirs."""
    texts = [str(v) for v in values.tolist()]
    if values.dtype == np.float32:
        texts = [str(v) for v in values]
    texts = [t.removesuffix(".0") for t in texts]
    edges = np.flatnonzero(np.diff(user, prepend=-1, append=-1)).tolist() if len(user) else []
    starts = user[edges[:-1]].tolist() if edges else []
    lines = [
        " ".join([str(u), *texts[a:b]])
        for u, a, b in zip(starts, edges[:-1], edges[1:], strict=True)
    ]
    lines += [str(u) for u in empty.tolist()]
    path.write_text("".join(f"{line}\n" for line in lines))
