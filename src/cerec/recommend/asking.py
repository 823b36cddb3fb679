"""Asking a sampler, its answer checked: it may be somebody's own, and kernels trust their input."""

from __future__ import annotations

import inspect

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec.recommend.base import Context, NegativeSampler, Rows
from cerec.recommend.draws import holds


def list_length(sampler: NegativeSampler) -> int:
    """How much of the users' lists a sampler wants to see; what is no sampler is refused."""
    if isinstance(sampler, type):
        raise ConfigError(f"{sampler.__name__} is a class; give a sampler made of it")
    length = getattr(sampler, "list_length", None)
    if not _takes_four(getattr(sampler, "draw", None)) or not isinstance(length, int | np.integer):
        raise ConfigError(
            f"{sampler!r} is no sampler: it needs draw(user, item, context, rng) "
            "and list_length, a whole number"
        )
    if length < 0:
        raise ConfigError(
            f"{type(sampler).__name__}.list_length must not be negative, got {length}"
        )
    return int(length)


def described(sampler: NegativeSampler) -> str:
    """A sampler in words that tell it from others: what it prints as, or its class alone where
    that is a place in memory.
    """
    text = repr(sampler)
    return type(sampler).__qualname__ if " at 0x" in text else text


def _takes_four(draw: object) -> bool:
    if not callable(draw):
        return False
    try:
        inspect.signature(draw).bind("user", "item", "context", "rng")
    except TypeError:
        return False
    except ValueError:  # of compiled code, whose arguments nobody can tell
        pass
    return True


def drawn(
    sampler: NegativeSampler, user: Rows, item: Rows, context: Context, rng: np.random.Generator
) -> Rows:
    """`sampler.draw`, refused where it is not one item row, or -1, per pair.

    Somebody's own sampler is refused too where it gives an item the user knows.
    """
    found = sampler.draw(user, item, context, rng)
    rows = _checked(found, len(user), len(context.facts.of_item), sampler)
    if not type(sampler).__module__.startswith("cerec."):
        at = _first_known(user, rows, context.known.indptr, context.known.indices)
        if at >= 0:
            raise ConfigError(
                f"{type(sampler).__name__}.draw gave item row {rows[at]} as a negative of user row "
                f"{user[at]}, who has it in train; give another, or -1 for none"
            )
    return rows


def drawn_ahead(
    sampler: NegativeSampler, user: Rows, item: Rows, context: Context, rng: np.random.Generator
) -> Rows | None:
    """`drawn` for all pairs of an epoch, from a sampler that is `ahead`; None of any other."""
    if not getattr(sampler, "ahead", False):
        return None
    return drawn(sampler, user, item, context, rng)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _first_known(
    user: Rows, item: Rows, indptr: NDArray[np.int64], indices: NDArray[np.int32]
) -> int:
    """The first pair whose item the user knows; -1 when there is none."""
    for p in range(len(user)):
        if item[p] >= 0 and holds(indptr, indices, user[p], item[p]):
            return p
    return -1


def _checked(found: NDArray[np.int32], n: int, limit: int, sampler: object) -> Rows:
    rows = np.asarray(found)
    name = type(sampler).__name__
    if rows.shape != (n,) or not np.issubdtype(rows.dtype, np.integer):
        raise ConfigError(
            f"{name}.draw must give {n} item rows as int32, one per pair, "
            f"got {rows.dtype} of shape {rows.shape}"
        )
    if n and (rows.min() < -1 or rows.max() >= limit):
        worst = int(rows.min() if rows.min() < -1 else rows.max())
        raise ConfigError(
            f"{name}.draw must give item rows from 0 to {limit - 1}, or -1 for none, got {worst}"
        )
    return rows.astype(np.int32, copy=False)
