"""Ridge regression of item vectors on item values, with columns that cost nothing.

    Y ~ Z x + F b        least squares plus penalty * |x|^2

n items, V values, d factors, Z (n, V) which item has which value, F (n, p) free columns. The free
part is projected out: with Q an orthonormal basis of F and M = 1 - QQ',

    x = (Z'MZ + penalty)^-1 Z'MY  =  Z' (MZZ'M + penalty)^-1 MY

and the smaller of the two matrices is factorised. The error on an item left out of the fit is its
residual over 1 - h, with h the item's own entry of the hat matrix; no fit is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.lazy import Later
from cerec.rng import generator

if TYPE_CHECKING:
    import scipy.sparse as sp
    from scipy.linalg import lapack
else:
    sp, lapack = Later("scipy.sparse"), Later("scipy.linalg.lapack")

Doubles = NDArray[np.float64]
PENALTIES = tuple(3.0**n for n in range(-4, 10))
"""Tried from the middle on, in the direction that makes the error smaller."""
DENSE = 4096
"""Up to this many items or values, whichever are fewer, a matrix is factorised."""
_STEPS = 300  # of conjugate gradients
_FREE = 1e-8  # singular value below which free columns say the same thing
_ALONE = 1e-8  # 1 - h below which an item is told by nothing but itself
_ROWS = 1024  # items looked at together


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The fit of the best penalty."""

    value: Doubles
    """(V, d) x."""
    penalty: float
    fidelity: float
    """R^2 on items left out."""


def fit(z: sp.csr_matrix, free: Doubles, y: Doubles, gram: Doubles) -> Fit:
    """The fit of the penalty of the least error on items left out, weighed by `gram` (d, d).

    Every item is left out once, in closed form. Where both items and values are more than
    `DENSE`, a tenth of the items, always the same, is left out once, the equations are solved by
    conjugate gradients in the memory of Z and a few (V, d), and the last fit takes all items.
    """
    if min(z.shape) > DENSE:
        return _iterated(z, free, y, gram)
    solve = (primal if z.shape[1] <= z.shape[0] else dual)(z, free, y)
    total = energy(y - y.mean(axis=0), gram)

    def quality(penalty: float) -> tuple[float, Doubles]:
        value, unseen = solve(penalty)
        return _r_squared(energy(unseen, gram), total), value

    return _climb(quality)


Solve = Callable[[float], tuple[Doubles, Doubles]]
"""penalty -> (V, d) x and (n, d) the error on each item by a fit without it."""


def primal(z: sp.csr_matrix, free: Doubles, y: Doubles) -> Solve:
    """By the (V, V) equations: for fewer values than items."""
    q = basis(free)[0]
    w = z.T @ q  # (V, p)
    normal = (z.T @ z).toarray() - w @ w.T
    rest = y - q @ (q.T @ y)
    right = np.concatenate([z.T @ rest, w], axis=1)

    def solve(penalty: float) -> tuple[Doubles, Doubles]:
        solution, inverse = _inverse(normal, penalty, right)
        value, spread = solution[:, : y.shape[1]], solution[:, y.shape[1] :]
        # h = |q|^2 + (z - Wq)' inverse (z - Wq)
        left = 1.0 - (q * q).sum(axis=1) - _quadratic(z, inverse)
        left += 2.0 * ((z @ spread) * q).sum(axis=1) - ((q @ (w.T @ spread)) * q).sum(axis=1)
        return value, _unseen(rest - z @ value + q @ (w.T @ value), left, y)

    return solve


def dual(z: sp.csr_matrix, free: Doubles, y: Doubles) -> Solve:
    """By the (n, n) equations: for fewer items than values."""
    q = basis(free)[0]
    kernel = (z @ z.T).toarray()
    side = kernel @ q
    kernel -= side @ q.T + q @ side.T
    kernel += q @ (q.T @ side) @ q.T
    rest = y - q @ (q.T @ y)

    def solve(penalty: float) -> tuple[Doubles, Doubles]:
        alpha, inverse = _inverse(kernel, penalty, rest)
        left = penalty * np.diagonal(inverse) - (q * q).sum(axis=1)
        return np.asarray(z.T @ alpha), _unseen(penalty * alpha, left, y)

    return solve


def basis(free: Doubles) -> tuple[Doubles, Doubles]:
    """Orthonormal columns Q (n, k) of the space of the free ones, and T (p, k): F T = Q."""
    length = np.sqrt((free * free).sum(axis=0))
    length[length == 0.0] = 1.0
    q, size, right = np.linalg.svd(free / length, full_matrices=False)
    kept = size > _FREE * max(size.max(initial=0.0), 1e-300)
    return q[:, kept], (right[kept] / size[kept, None]).T / length[:, None]


def predicted(
    z: sp.csr_matrix, free: Doubles, y: Doubles, value: Doubles, at: sp.csr_matrix, free_at: Doubles
) -> Doubles:
    """What a fit x to (Z, F, Y) says of items with these values and free columns."""
    q, back = basis(free)
    return np.asarray(at @ value + free_at @ (back @ (q.T @ (y - z @ value))))


def energy(rows: Doubles, gram: Doubles) -> float:
    """The sum of squares of all users' scores of these item vectors, by the users' U'U."""
    return float(((rows @ gram) * rows).sum())


def _r_squared(error: float, total: float) -> float:
    return 1.0 - error / total if total > 0.0 else 0.0


def _climb(quality: Callable[[float], tuple[float, Doubles]]) -> Fit:
    """The best penalty, from the middle of the list uphill."""
    at = len(PENALTIES) // 2 - 1
    best, value = quality(PENALTIES[at])
    for way in (1, -1):
        moved = False
        while 0 <= at + way < len(PENALTIES):
            now, other = quality(PENALTIES[at + way])
            if now <= best:
                break
            at, best, value, moved = at + way, now, other, True
        if moved:
            break
    return Fit(value, PENALTIES[at], best)


def _inverse(matrix: Doubles, penalty: float, right: Doubles) -> tuple[Doubles, Doubles]:
    """The solution for `right`, and the inverse of matrix + penalty as one of its triangles."""
    work = matrix.copy()
    work.flat[:: len(work) + 1] += penalty
    factor, failed = lapack.dpotrf(work.T, lower=1, overwrite_a=1)  # .T: no copy, and symmetric
    if failed:
        raise np.linalg.LinAlgError(f"penalty {penalty:g} is too small for these values")
    solution, _ = lapack.dpotrs(factor, right, lower=1)
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    return np.ascontiguousarray(solution), inverse.T  # upper, zeros below


def _quadratic(z: sp.csr_matrix, upper: Doubles) -> Doubles:
    """(n,) z' A z for every row of Z, of a symmetric A of which one triangle is given."""
    out = -(z @ np.ascontiguousarray(np.diagonal(upper)))
    for start in range(0, z.shape[0], _ROWS):
        part = z[start : start + _ROWS]
        twice = 2.0 * part.multiply(part @ upper).sum(axis=1)
        out[start : start + _ROWS] += np.asarray(twice).ravel()
    return np.asarray(out)


def _unseen(residual: Doubles, left: Doubles, y: Doubles) -> Doubles:
    """Errors of fits without the item; where that leaves nothing to tell it by, from the mean."""
    alone = left < _ALONE
    out = residual / np.where(alone, 1.0, left)[:, None]
    out[alone] = (y - y.mean(axis=0))[alone]
    return np.asarray(out)


def _iterated(z: sp.csr_matrix, free: Doubles, y: Doubles, gram: Doubles) -> Fit:
    """The penalty is chosen in single precision and by coarse solutions, x is not."""
    order = generator(0, "ridge/held out").permutation(z.shape[0])
    out, rows = np.sort(order[: len(order) // 10]), np.sort(order[len(order) // 10 :])
    some = z[rows], free[rows], y[rows]
    solve = conjugate(*some, dtype=np.float32, near=1e-3)
    total = energy(y[out] - some[2].mean(axis=0), gram)
    last: list[Doubles | None] = [None]  # a good start for the next penalty

    def quality(penalty: float) -> tuple[float, Doubles]:
        last[0] = value = solve(penalty, last[0])
        error = y[out] - predicted(*some, value, z[out], free[out])
        return _r_squared(energy(error, gram), total), value

    found = _climb(quality)
    value = conjugate(z, free, y)(found.penalty, found.value)
    return Fit(value, found.penalty, found.fidelity)


def conjugate(
    z: sp.csr_matrix,
    free: Doubles,
    y: Doubles,
    *,
    dtype: type[np.floating[Any]] = np.float64,
    near: float = 1e-6,
) -> Callable[[float, Doubles | None], Doubles]:
    """(penalty, a first guess) -> x, by conjugate gradients scaled by the diagonal.

    They end when the residual is `near` of the right side, in every column.
    """
    q = basis(free)[0]
    w = (z.T @ q).astype(dtype)
    right = (z.T @ (y - q @ (q.T @ y))).astype(dtype)
    diagonal = np.maximum(np.asarray(z.sum(axis=0)).ravel() - (w * w).sum(axis=1), 0.0)
    z = z.astype(dtype)
    zt = z.T.tocsr()
    tiny = np.finfo(np.float32).tiny

    def solve(penalty: float, start: Doubles | None) -> Doubles:
        def times(x: Doubles) -> Doubles:
            out = zt @ (z @ x)
            out -= w @ (w.T @ x)
            out += dtype(penalty) * x
            return np.asarray(out)

        scale = (1.0 / (diagonal + penalty)).astype(dtype)[:, None]
        goal = near**2 * np.einsum("vd,vd->d", right, scale * right)
        value = np.zeros_like(right) if start is None else start.astype(dtype)
        rest = right - times(value)
        step = scale * rest
        now = np.einsum("vd,vd->d", rest, step)
        for _ in range(_STEPS):
            if (now <= goal).all():
                break
            moved = times(step)
            rate = now / np.maximum(np.einsum("vd,vd->d", step, moved), tiny)
            value += rate * step
            rest -= rate * moved
            ready = scale * rest
            before, now = now, np.einsum("vd,vd->d", rest, ready)
            step *= now / np.maximum(before, tiny)
            step += ready
        return value.astype(np.float64)

    return solve
