"""The form each array of a recommender must have, checked before anything is computed with it.

Compiled kernels look at no bounds, so a row number out of range would read foreign memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.errors import RunError
from cerec.manifest import MEND

_FORMS: dict[str, dict[str, str]] = {
    # name: kind of numbers, axes, and for row numbers what they count (<) or where they end (->)
    "linear": {
        "history_ptr": "i U+1 ->history", "history": "i h <I", "weight": "f h", "own": "f I",
        "common": "f V", "pair_ptr": "i I+1 ->pair", "pair": "i p <I", "strength": "f p",
        "vocabulary": "i V", "value_ptr": "i I+1 ->value", "value": "i n <V", "scale": "f I",
        "share": "f V", "unit": "f V", "item_vector": "f I d", "value_vector": "f V d",
        "gram": "f d d", "factor": "f 3", "bits": "i 1",
    },
    "factors": {
        "user": "f U d", "item": "f I d", "value": "f V d", "vocabulary": "i V", "scale": "f I",
        "gone_user": "i a <U", "gone_item": "i b <I",
    },
    "itemitem": {
        "weight_ptr": "i I+1 ->weight_item", "weight_item": "i w <I", "weight": "f w",
        "history_ptr": "i U+1 ->history", "history": "i h <I", "basis": "f I d", "value": "f V d",
    },
    "scores": {
        "matrix": "f U I", "basis": "f I d", "value": "f V d", "effect": "f U W",
        "vocabulary": "i W", "scale": "f I",
    },
}  # fmt: skip


def refuse_misshapen(
    path: Path, kind: str, arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]
) -> None:
    """Refuse arrays of another type or shape than a recommender of this kind has, of so many users
    and items, and row numbers that point nowhere.
    """
    sizes = {"U": shape[0], "I": shape[1]}
    for name, form in _FORMS[kind].items():
        if name in arrays and not _fits(arrays, name, form.split(), sizes):
            found = arrays[name]
            raise RunError(
                f"{path}: array {name!r} ({found.dtype}, {found.shape}) does not fit a run of "
                f"{shape[0]:,} users and {shape[1]:,} items; {MEND}"
            )


def _fits(
    arrays: Mapping[str, NDArray[Any]], name: str, form: list[str], sizes: dict[str, int]
) -> bool:
    array, (kind, *axes) = arrays[name], form
    rule = axes.pop() if axes[-1][0] in "<-" else ""
    if array.dtype.kind != kind or array.ndim != len(axes):
        return False
    for axis, length in zip(axes, array.shape, strict=True):
        letter, _, more = axis.partition("+")
        expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, length)
        if length != expected + int(more or 0):
            return False
    if rule.startswith("->"):
        return rises_to(array, len(arrays.get(rule[2:], ())))
    return not rule or within(array, sizes[rule[1:]])


def rises_to(ptr: NDArray[Any], end: int) -> bool:
    """Whether these are starts of rows of an array of `end` entries."""
    return bool(len(ptr) and ptr[0] == 0 and ptr[-1] == end and (np.diff(ptr) >= 0).all())


def within(rows: NDArray[Any], below: int) -> bool:
    """Whether all are rows of a table of `below`."""
    return not rows.size or bool(rows.min() >= 0 and rows.max() < below)
