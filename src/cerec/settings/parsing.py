"""From tables of plain values to frozen dataclasses: keys and kinds checked, nothing unknown."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cerec.errors import ConfigError, finite, near_matches, one_of

T = TypeVar("T")
Inner = Callable[[type[Any], Mapping[str, Any], str], Any]
"""What is made of a table within a table."""


def parse(cls: type[T], table: Mapping[str, Any], where: str = "") -> T:
    """An instance of a config dataclass from a table; unknown keys are refused with a hint."""
    return cls(**_values(cls, table, where, parse))


def check(cls: type[Any], table: Mapping[str, Any], where: str = "") -> None:
    """Refuse what `parse` does but for the rules of the dataclasses, which may be of two keys."""
    _values(cls, table, where, check)


def _values(cls: type[Any], table: Mapping[str, Any], where: str, inner: Inner) -> dict[str, Any]:
    hints = get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls)]
    values = {}
    for key, value in table.items():
        if key not in known:
            near = near_matches(key, known, most=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
            place = f"in [{where}]" if where else "at the top level"
            raise ConfigError(f"unknown key {key!r} {place}{hint}")
        values[key] = _convert(hints[key], value, f"{where}.{key}" if where else key, inner)
    return values


def _convert(hint: Any, value: Any, where: str, inner: Inner) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise ConfigError(f"[{where}] must be a table, got {value!r}")
        return inner(hint, value, where)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return one_of(where, value, args)
    if origin in (Union, types.UnionType):
        some = next(a for a in args if a is not type(None))
        return None if value is None else _convert(some, value, where, inner)
    if origin is dict:  # an open table
        if not isinstance(value, Mapping):
            raise ConfigError(f"[{where}] must be a table, got {value!r}")
        return dict(value)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where} must be a list, got {value!r}")
        return tuple(_convert(args[0], v, where, inner) for v in value)
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: Any, where: str) -> Any:
    whole = hint is float and isinstance(value, int) and not isinstance(value, bool)
    if not (whole or isinstance(value, hint)) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{where} must be {_kind(hint)}, got {value!r}")
    if hint is float and not finite(value):
        raise ConfigError(f"{where} must be a finite number, got {value!r:.60}")
    return float(value) if whole else value


def _kind(hint: Any) -> str:
    kinds = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return kinds.get(hint, str(hint))
