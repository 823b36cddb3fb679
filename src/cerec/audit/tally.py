"""Sums over listed pairs by group, with a bootstrap over users."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.audit.answered import Answered
from cerec.audit.parts import Bits, Block
from cerec.audit.plain import Share
from cerec.audit.segments import Groups
from cerec.recommend.protocol import Doubles
from cerec.rng import generator

BOOT, LEVEL = 200, (0.025, 0.975)
"""How often users are drawn again, and what an interval leaves out on either side."""


def share(drawn: Doubles) -> Share:
    """From a figure (0) and the same with users drawn again."""
    boot = drawn[1:][np.isfinite(drawn[1:])]
    low, high = np.quantile(boot, LEVEL) if len(boot) else (np.nan, np.nan)
    return Share(float(drawn[0]), float(low), float(high))


def ratio(above: Doubles, below: Doubles) -> Doubles:
    """One by the other; nan where there is nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)


def drawn(seed: int, name: str, users: int) -> Doubles:
    """(1 + BOOT, users) how often each user counts: once, then a Poisson(1) number of times."""
    again = generator(seed, name).poisson(1.0, (BOOT, users))
    return np.concatenate([np.ones((1, users)), again])


class Tally:
    """Sums over pairs; group 0 is everybody, then come ranges of ranks, then `groups`."""

    def __init__(self, ranks: list[int], groups: Groups, parts: int, relations: int, seed: int):
        self._ranks, self._groups, self._seed = ranks, groups, seed
        widths = [parts, 1, 1, 1, parts, relations, relations, 1]
        ends = np.cumsum(widths)
        names = ("part", "lift", "common", "pairs", "leaves", "needed", "changed", "found")
        self.column = dict(zip(names, (ends - widths).tolist(), strict=True))
        """Where each kind of figure starts."""
        n_groups = 1 + len(ranks) + len(groups.names)
        self.sums = np.zeros((n_groups, 1 + BOOT, int(ends[-1])))
        self.users = np.zeros(n_groups, np.int64)

    def columns(self, block: Block, answers: Answered) -> list[tuple[Doubles, Bits]]:
        """By group: what each user of a block adds, and which users have anything in it."""
        there = block.there
        figures = (
            block.part,
            block.lift,
            block.common * there,
            there,
            block.leaves(),
            *answers[::-1],
        )
        wide = np.concatenate(
            [x if x.ndim == 3 else x[..., None] for x in figures], axis=2, dtype=np.float64
        )
        ranks = np.add.reduceat(wide, self._ranks, axis=1)
        shown = np.add.reduceat(there, self._ranks, axis=1) > 0
        all_ = ranks.sum(axis=1)
        anybody = np.asarray(there.any(axis=1))
        out = [(all_, anybody)]
        out += [(ranks[:, n], shown[:, n]) for n in range(len(self._ranks))]
        mine = self._groups.of_user[:, block.users]
        n_user = len(self._groups.names) - len(self._groups.of_item)
        for g in range(n_user):
            inside = np.asarray((mine == g).any(axis=0)) & anybody
            out.append((all_ * inside[:, None], inside))
        for row in self._groups.of_item:
            cell = row[np.maximum(block.listed, 0)] & there
            out.append(
                (np.einsum("nk,nkc->nc", cell.astype(float), wide), np.asarray(cell.any(axis=1)))
            )
        return out

    def of_block(self, block: Block, answers: Answered) -> tuple[Doubles, NDArray[np.int64]]:
        """What a block adds to `sums` and `users`."""
        weights = drawn(self._seed, f"audit/{int(block.users[0])}", len(block.users))
        columns = self.columns(block, answers)
        sums = np.stack([weights @ figures for figures, _ in columns])
        return sums, np.array([int(some.sum()) for _, some in columns])

    def share(
        self, group: int, name: str, n: int = 0, *, over: str, less: int | None = None
    ) -> Share:
        """A ratio of sums with its interval; `less`: minus that of another group."""
        above, below = self.column[name] + n, self.column[over]
        found = ratio(self.sums[group, :, above], self.sums[group, :, below])
        if less is not None:
            found = found - ratio(self.sums[less, :, above], self.sums[less, :, below])
        return share(found)
