"""Every analytic gradient against finite differences of its own loss."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.recommend import kernels

D = 4


def log1pexp(x: float) -> float:
    return float(np.logaddexp(0.0, x))


def numeric(loss, table: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Central differences of `loss()` by every entry of `table` (changed in place, restored)."""
    out = np.zeros(table.shape)
    for at in np.ndindex(*table.shape):
        kept = table[at]
        table[at] = kept + step
        up = loss()
        table[at] = kept - step
        down = loss()
        table[at] = kept
        out[at] = (up - down) / (2 * step)
    return out


@pytest.fixture
def tables() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return tuple(rng.standard_normal((n, D)).astype(np.float32) for n in (3, 6))


def rows(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.mark.parametrize(("alone", "l2"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.3)])
def test_pair_gradients(tables, alone: float, l2: float) -> None:
    user, item = tables
    u, i, j = rows(0, 0, 2, 1), rows(1, 2, 2, 5), rows(3, 1, 4, -1)  # the last has no negative

    def loss() -> float:
        total = 0.0
        for a, b, c in zip(u[:3], i[:3], j[:3], strict=True):
            x, y, z = (t.astype(float) for t in (user[a], item[b], item[c]))
            total += log1pexp(x @ z - x @ y) + alone * log1pexp(-x @ y)
            total += l2 / 2 * (x @ x + y @ y + z @ z)
        return total

    d_user, d_item = np.zeros_like(user), np.zeros_like(item)
    got = kernels.pair_gradients(u, i, j, user, item, alone, l2, d_user, d_item)
    if l2 == 0:
        assert got == pytest.approx(loss(), rel=1e-5)
    assert d_user == pytest.approx(numeric(loss, user), abs=2e-3)
    assert d_item == pytest.approx(numeric(loss, item), abs=2e-3)


def test_adagrad_by_hand() -> None:
    # gradients 3 then 4 at rate 1: 5 -> 5 - 3/3 = 4 -> 4 - 4/5 = 3.2; the other row stays
    table, squares = np.full((2, 1), 5.0, np.float32), np.zeros((2, 1), np.float32)
    for gradient in (3.0, 4.0):
        grad = np.array([[gradient], [gradient]], np.float32)
        touched = np.array([True, False])
        kernels.adagrad(table, grad, squares, touched, 1.0, 2)
        assert not touched.any()
        assert grad[0, 0] == 0
    assert table[:, 0] == pytest.approx([3.2, 5.0])
