"""Search spaces in files, and the settings a trial tries.

A file `NAME.toml` of the folder holds one table per setting that is searched:

    [learning_rate]
    low = 1e-4
    high = 1e-2
    log = true

    [dim]
    choices = [32, 64]

A whole `low` and `high` make whole numbers. The first trial takes the defaults; the others are
proposed by Optuna's TPE from what validation said of the trials before. With the same seed the
same results lead to the same proposals, so a search that was stopped goes on as it would have.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cerec.errors import ConfigError

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


class Search:
    """Asks for the settings of one trial after the other."""

    def __init__(self, space: tuple[Setting, ...], *, seed: int) -> None:
        try:
            import optuna
        except ImportError:
            raise ConfigError(
                "tuning needs Optuna: pip install 'cerec[bench]', or set --budget 1"
            ) from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=5)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._space = space

    def ask(self) -> tuple[Any, Params]:
        """A trial to hand back to `tell`, and its settings."""
        trial = self._study.ask()
        return trial, {setting.name: _suggest(trial, setting) for setting in self._space}

    def tell(self, trial: Any, score: float | None) -> None:
        """What validation said; None when the trial failed."""
        if score is None:
            from optuna.trial import TrialState

            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._study.tell(trial, score)


def _suggest(trial: Any, setting: Setting) -> Any:
    if setting.choices:  # by place, since Optuna takes no tuples
        place = trial.suggest_categorical(setting.name, list(range(len(setting.choices))))
        return setting.choices[place]
    if isinstance(setting.low, int) and isinstance(setting.high, int):
        return trial.suggest_int(setting.name, setting.low, setting.high, log=setting.log)
    return trial.suggest_float(setting.name, setting.low, setting.high, log=setting.log)


def plain(params: Mapping[str, Any]) -> Params:
    """Settings as JSON holds them."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in params.items()}
