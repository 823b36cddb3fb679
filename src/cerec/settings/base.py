"""What all tables of settings share: pydantic checks them, from a file or made in Python.

    @settings("agent")
    class AgentConfig:
        depth: Annotated[int, Interval(ge=1, le=5)] = 1

A mistake is a `ConfigError` that names the dotted key and what is allowed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

from annotated_types import Ge, Gt, Interval
from pydantic import ConfigDict, Strict, ValidationError
from pydantic.dataclasses import dataclass

from cerec.errors import ConfigError, near_matches

T = TypeVar("T")
Count = Annotated[int, Ge(1)]
Natural = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Interval(ge=0, le=1)]
Below1 = Annotated[float, Interval(ge=0, lt=1)]
Widths = Annotated[tuple[Count, ...], Strict(False)]
"""Whole numbers from 1; a list will do."""
_CONFIG = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
_KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a table",
    "greater_than": "above {gt:,}",
    "greater_than_equal": "at least {ge:,}",
    "less_than": "below {lt:,}",
    "less_than_equal": "at most {le:,}",
}


@dataclass_transform(kw_only_default=True, frozen_default=True)
def settings(section: str) -> Callable[[type[T]], type[T]]:
    """A frozen pydantic dataclass whose mistakes name the keys of `section`."""

    def made(cls: type[T]) -> type[T]:
        checked: Any = dataclass(cls, config=_CONFIG, frozen=True, slots=True, kw_only=True)
        plain = checked.__init__

        def init(self: Any, *args: Any, **values: Any) -> None:
            try:
                plain(self, *args, **values)
            except ValidationError as error:
                raise ConfigError(_worded(error, checked, section)) from None

        checked.__init__ = init
        return checked  # type: ignore[no-any-return]

    return made


def parse(cls: type[T], table: Mapping[str, Any], where: str = "") -> T:
    """An instance of a class of settings from a table, with tables inside it."""
    hints, values = get_type_hints(cls), {}
    for key, value in table.items():
        name = f"{where}.{key}" if where else key
        if dataclasses.is_dataclass(kind := hints.get(key)) and isinstance(kind, type):
            if not isinstance(value, Mapping):
                raise ConfigError(f"[{name}] must be a table, got {value!r:.60}")
            value = parse(kind, value, name)
        values[key] = value
    return cls(**values)


def _worded(error: ValidationError, cls: Any, section: str) -> str:
    """The first mistake in one line."""
    found = error.errors(include_url=False)[0]
    kind, given, allowed = found["type"], found["input"], found.get("ctx", {})
    key = str(found["loc"][0])
    hints = get_type_hints(cls)
    if kind == "unexpected_keyword_argument":
        near = near_matches(key, hints, most=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(hints)}"
        return f"unknown key {key!r} {f'in [{section}]' if section else 'at the top level'}; {hint}"
    name = f"{section}.{key}" if section else key
    got = f"got {given!r:.60}"
    if kind == "literal_error":
        choices = getattr(hints[key], "__args__", ())
        near = near_matches(str(given), map(str, choices), most=1)
        got += f"; did you mean {near[0]!r}?" if near else ""
        return f"{name} must be one of {', '.join(map(str, choices))}, {got}"
    if kind == "dataclass_exact_type":
        return f"{name} must be of {allowed['class_name']}, {got}"
    return f"{name} must be {_KINDS.get(kind, found['msg']).format(**allowed)}, {got}"
