"""Relations that say what another one says, read from tail to head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cerec.data.dataset import Dataset, Triples
from cerec.data.names import INVERSE

_NEARLY_ALL = 0.95
_LEAST = 5  # a smaller relation may lie within another by chance


@dataclass(frozen=True, slots=True)
class InversePair:
    """Relation rows: `gone` says the same as `kept`, from the other end."""

    kept: int
    gone: int
    shared: int
    """Triples that both hold."""
    turned: bool
    """True if head and tail of `gone` must change places to read as `kept`."""


def find_inverses(data: Dataset) -> tuple[InversePair, ...]:
    """Pairs of relations of which nearly every triple of one stands in the other, turned round.

    Recognised by the triples, not by names: at least 95 % of both relations must be shared, or
    the smaller must lie wholly within the other. A relation that a reader has already turned
    (`actor.film^-1`) is compared with the others as it stands. A relation goes at most once,
    and none goes that another has been merged into.
    """
    shared = _shared(data.triples, len(data.relations))
    size = np.bincount(data.triples.relation, minlength=len(data.relations))
    pairs: list[InversePair] = []
    for a, b, turned in _candidates(shared, size):
        both = shared[(turned, a, b)]
        flipped = data.relations[a].endswith(INVERSE) != data.relations[b].endswith(INVERSE)
        within = both == min(size[a], size[b]) >= _LEAST
        if not (turned or flipped) or not (within or both >= _NEARLY_ALL * max(size[a], size[b])):
            continue
        kept, gone = sorted((a, b), key=lambda r: _plainness(data, size, r))
        if not any(p.gone in (kept, gone) or p.kept == gone for p in pairs):
            pairs.append(InversePair(kept, gone, both, turned))
    return tuple(pairs)


def _plainness(data: Dataset, size: NDArray[np.int64], relation: int) -> tuple[bool, int, int, int]:
    """Sort key: as written before turned, then the larger, then the shorter and earlier id."""
    name = data.relations[relation]
    return name.endswith(INVERSE), -int(size[relation]), len(name), relation


def _shared(triples: Triples, n_relations: int) -> dict[tuple[bool, int, int], int]:
    """(turned, a, b) with a < b -> triples of a that b holds too, turned round or as they are."""
    low, high = np.minimum(triples.head, triples.tail), np.maximum(triples.head, triples.tail)
    width = int(high.max()) + 1 if len(high) else 1
    pair = np.unique(low.astype(np.int64) * width + high, return_inverse=True)[1]
    column = 2 * triples.relation.astype(np.int64) + (triples.head > triples.tail)
    ones = np.ones(len(pair), np.int64)
    holds = sparse.csr_matrix((ones, (pair, column)), shape=(len(pair), 2 * n_relations))
    together = (holds.T @ holds).tocoo()
    counts: dict[tuple[bool, int, int], int] = {}
    for x, y, n in zip(together.row, together.col, together.data, strict=True):
        a, b = int(x) // 2, int(y) // 2
        if a < b:
            key = (bool(x % 2 != y % 2), a, b)
            counts[key] = counts.get(key, 0) + int(n)
    return counts


def _candidates(
    shared: dict[tuple[bool, int, int], int], size: NDArray[np.int64]
) -> list[tuple[int, int, bool]]:
    """Pairs by falling share of common triples, then by row, so that the best match wins."""
    share = {key: n / max(size[key[1]], size[key[2]]) for key, n in shared.items()}
    order = sorted(share, key=lambda key: (-share[key], key[1], key[2], key[0]))
    return [(a, b, turned) for turned, a, b in order]
