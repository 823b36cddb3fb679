"""What all adapters share: ids in the model's own order, and what is never listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.ids import IdTable
from cerec.errors import ConfigError, DataError
from cerec.lazy import Later
from cerec.recommend.protocol import Doubles, ItemRows

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Later("scipy.sparse")

Ids = Iterable[Any] | Mapping[Any, int]
"""Ids in the model's own order, or a mapping from id to row."""
Known = Any
"""A sparse matrix (U, I) in the model's own order, or a mapping from user id to item ids."""
Lists = Callable[[ItemRows, int], Sequence[ItemRows]]


class Adapter:
    """A recommender in its own order. `known` is None where the data say what is never listed."""

    known: Callable[[int], ItemRows] | None = None
    lists: Lists | None = None

    def __init__(self, users: Ids, items: Ids, known: Known = None) -> None:
        self.users, self.items = table("user", users), table("item", items)
        if known is not None:
            rows = histories("known", known, self.users, self.items)
            self.known = rows.__getitem__

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        return len(self.users), len(self.items)


def table(kind: str, ids: Ids) -> IdTable:
    """Ids in the model's own order; numbers are taken as their text."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ConfigError(f"{kind}s= must be the {kind} ids in the model's own order, got {ids!r}")
    if isinstance(ids, Mapping):
        if sorted(ids.values()) != list(range(len(ids))):
            raise DataError(f"{kind}s= maps ids to rows, which must be 0 to {len(ids) - 1}")
        ids = sorted(ids, key=ids.__getitem__)
    return IdTable(kind, [i if isinstance(i, str) else str(i) for i in ids])


def histories(name: str, given: Known, users: IdTable, items: IdTable) -> list[ItemRows]:
    """Item rows of every user, in the order given."""
    if sp.issparse(given):
        matrix = sp.csr_matrix(given)
        if matrix.shape != (len(users), len(items)):
            raise DataError(
                f"{name} has shape {matrix.shape}, expected ({len(users)}, {len(items)}): a row "
                "for every user and a column for every item, in the model's own order"
            )
        spans = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        return [matrix.indices[a:b][matrix.data[a:b] != 0] for a, b in spans]
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{name} must be a sparse matrix of users and items in the model's own order, or a "
            f"mapping from user id to item ids, got {type(given).__name__}"
        )
    by_user = {str(user): row for user, row in given.items()}
    return [np.array([items.row(i) for i in by_user.get(user, ())], np.int32) for user in users.ids]


def floats(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A table of single or double precision; a torch tensor or a matrix on a GPU, too."""
    for step in ("detach", "cpu", "to_numpy"):
        if not isinstance(given, np.ndarray) and hasattr(given, step):
            given = getattr(given, step)()
    try:
        out = np.asarray(given)
        out = out if out.dtype == np.float32 else out.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not a table of numbers: {error}") from None
    if out.ndim != len(shape) or any(
        n not in (-1, m) for n, m in zip(shape, out.shape, strict=True)
    ):
        told = ", ".join("d" if n == -1 else str(n) for n in shape)
        raise DataError(
            f"{name} has shape {out.shape}, expected ({told}): one row for every id, "
            "in the model's own order"
        )
    return np.ascontiguousarray(out)


def block(name: str, given: Any, shape: tuple[int, ...]) -> Doubles:
    """What a caller's function gave, as doubles of this shape."""
    try:
        out = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} gave no array of numbers: {error}") from None
    if out.shape != shape:
        raise DataError(f"{name} gave shape {out.shape}, expected {shape}")
    return out
