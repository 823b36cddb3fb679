"""Search spaces in files, and the settings a trial tries.

A file `NAME.toml` of the folder holds one table per setting that is searched:

    [learning_rate]
    low = 1e-4
    high = 1e-2
    log = true

    [dim]
    choices = [32, 64]

A whole `low` and `high` make whole numbers. The first trial takes the defaults, the others draw
each setting at random. All systems are tuned by this one rule.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cerec.errors import ConfigError
from cerec.rng import generator

SPACES = Path(__file__).parent / "spaces"
"""The search spaces that come with the package."""
Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """The values one setting may take: some choices, or a range."""

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False


def read_space(folder: Path, name: str) -> tuple[Setting, ...]:
    """The search space of a system."""
    path = folder / f"{name}.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such file; a search of more than one trial needs a search space for "
            f"{name}: write one, give its folder with --search, or set --budget 1"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: not readable as TOML ({error})") from None
    return tuple(_setting(path, key, table) for key, table in tables.items())


def _setting(path: Path, name: str, table: Any) -> Setting:
    keys = set(table) if isinstance(table, dict) else set()
    if keys == {"choices"} and isinstance(table["choices"], list) and table["choices"]:
        return Setting(name, tuple(map(_frozen, table["choices"])))
    if {"low", "high"} <= keys <= {"low", "high", "log"}:
        low, high, log = table["low"], table["high"], table.get("log", False)
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (low, high))
        if numbers and isinstance(log, bool) and low < high and (low > 0 or not log):
            return Setting(name, (), low, high, log)
    raise ConfigError(
        f"{path}: [{name}] must hold `choices = [...]`, or `low` below `high` and perhaps "
        f"`log = true` (low above 0), got {table!r}"
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def tries(space: tuple[Setting, ...], n: int, *, seed: int) -> list[Params]:
    """The settings of n trials: the defaults, then draws that do not depend on n."""
    out: list[Params] = [{}]
    for trial in range(1, n):
        rng = generator(seed, f"tuning/{trial}")
        out.append(plain({setting.name: _drawn(setting, rng) for setting in space}))
    return out[:n]


def _drawn(setting: Setting, rng: np.random.Generator) -> Any:
    if setting.choices:
        return setting.choices[int(rng.integers(len(setting.choices)))]
    low, high = setting.low, setting.high
    if isinstance(low, int) and isinstance(high, int):
        if setting.log:
            drawn = int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
            return min(max(drawn, low), high)
        return int(rng.integers(low, high + 1))
    if setting.log:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return float(rng.uniform(low, high))


def plain(params: Mapping[str, Any]) -> Params:
    """Settings as JSON holds them."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in params.items()}
