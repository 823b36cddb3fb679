"""Settings of the data: what is left out, and how interactions are parted."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Interval
from pydantic import Strict

from cerec.errors import ConfigError
from cerec.settings.base import Natural, settings

Method = Literal["auto", "ratio", "leave_one_out", "time", "given"]


@settings("filters")
class FilterConfig:
    """What to leave out. The defaults remove repetition only: no pair and no fact is lost."""

    min_rating: float | None = None
    """Interactions rated below this go; None: all stay."""
    duplicates: bool = True
    """Of the same user and item (in the same part) only the earliest interaction stays."""
    merge_inverses: bool = True
    """Of two relations that say the same from either end, one stays, with the facts of both."""
    leave_out: Annotated[tuple[str, ...], Strict(False)] = ()
    """Relations to leave out, by id, name or pattern (`*` and `?`), for instance `wiki*`."""
    k_core: Natural = 0
    """Users and items with fewer than this many partners go, again and again until none is left
    (the paper: 10); 0: all stay."""
    min_entity: Natural = 0
    """Entities with fewer than this many facts go (the paper: 10)."""
    min_relation: Natural = 0
    """Relations with fewer than this many facts go (the paper: 50)."""
    require_attributes: bool = False
    """Items without any attribute go. They cannot be explained, but can be recommended."""


@settings("split")
class SplitConfig:
    """How interactions are parted. Every method works user by user."""

    method: Method = "auto"
    """`ratio`: at random; `leave_one_out`: the last (or, without times, a random) item for test,
    the one before for validation; `time`: the latest items for test; `given`: the parts the files
    came in; `auto`: `given` if there are parts, else `ratio`."""
    train: float = 0.6
    """Share of a user's items to learn from (`ratio` and `time`); always at least one item."""
    valid: float = 0.2
    """Share to stop and choose by."""
    test: float = 0.2
    """Share to report on."""
    carve: Annotated[float, Interval(ge=0, lt=1)] = 0.25
    """Share of train set aside for validation when given files bring none; 0 leaves train whole.
    A quarter turns the usual 80/20 files into 60/20/20."""

    def __post_init__(self) -> None:
        shares = (self.train, self.valid, self.test)
        if not all(0 <= s <= 1 for s in shares) or abs(sum(shares) - 1) > 1e-6 or self.train == 0:
            raise ConfigError(
                "split.train, split.valid and split.test must be shares that add up to 1, train "
                f"above 0, got {self.train}, {self.valid}, {self.test}"
            )
