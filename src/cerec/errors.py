"""Every exception the library raises on purpose.

A `CerecError` is a mistake a person can mend: its message is one line that names what is
wrong, where, and what to do. The command line prints it and exits with 2; the service turns
it into a 4xx answer. Anything else that escapes is a bug and shows its trace.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class CerecError(Exception):
    """A mistake in input, configuration or use, said in one line."""


class DataError(CerecError):
    """A file or table that cannot be used; the message names file, line, value and remedy."""


class NotFinite(DataError):
    """Factors with something in them that is no number: a training that diverged, for one."""


class ConfigError(CerecError):
    """A setting that is unknown or out of range."""


class RunError(CerecError):
    """A run folder that is missing, damaged or of another version."""


class QuestionError(CerecError):
    """A question that does not apply, such as why an item that is listed is not listed."""


class UnknownIdError(CerecError):
    """An id that the data does not hold; carries near matches."""

    def __init__(self, kind: str, value: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.value = value
        pool = list(known)
        self.matches = near_matches(value, pool)
        hint = ""
        if self.matches:
            hint = f"; did you mean {' or '.join(map(repr, self.matches))}?"
        elif pool:
            hint = f"; there is, for example, {' or '.join(map(repr, pool[:3]))}"
        super().__init__(f"unknown {kind} {value!r}{hint}")


def one_of(field: str, value: Any, allowed: Iterable[Any]) -> Any:
    """`value`, refused when it is none of `allowed`."""
    choices = tuple(allowed)
    if value not in choices:
        near = near_matches(str(value), map(str, choices), most=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"{field} must be one of {', '.join(map(str, choices))}, got {value!r}{hint}"
        )
    return value


def positive(k: object) -> int:
    """A list length, refused where it is none."""
    if isinstance(k, bool) or not hasattr(k, "__index__") or k.__index__() < 1:
        raise ConfigError(f"k must be a whole number of at least 1, got {k!r}")
    return int(k.__index__())


def near_matches(value: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Up to `most` entries of `known` that a person may have meant by `value`, best first."""
    pool = list(known)
    folded = value.casefold()
    starts = [k for k in pool if k.casefold().startswith(folded)] if folded else []
    close = difflib.get_close_matches(
        value, pool if len(pool) <= 20_000 else [], n=most, cutoff=0.6
    )
    return tuple(dict.fromkeys([*close, *sorted(starts, key=lambda k: (len(k), k))]))[:most]
