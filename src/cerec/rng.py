"""One seed, named generators.

Every purpose (splitting, initialising, drawing negatives, ...) has a generator of its own, so
adding a purpose leaves the numbers of the others as they were. Nothing uses a global state.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def derive(seed: int, name: str) -> int:
    """A 32-bit seed for one purpose, the same on every machine."""
    return zlib.crc32(f"{seed}:{name}".encode())


def generator(seed: int, name: str) -> np.random.Generator:
    """The NumPy generator of one purpose."""
    return np.random.default_rng(derive(seed, name))


def torch_generator(seed: int, name: str) -> torch.Generator:
    """The torch generator of one purpose."""
    import torch

    return torch.Generator().manual_seed(derive(seed, name))
