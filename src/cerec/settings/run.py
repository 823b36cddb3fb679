"""Settings of a run: one frozen dataclass per stage, read from TOML, nothing unknown accepted."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from cerec.errors import ConfigError, near_matches
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.settings.base import parse, settings
from cerec.settings.data import FilterConfig, SplitConfig
from cerec.settings.linear import LinearConfig
from cerec.settings.models import installed, resolve
from cerec.settings.recommender import MODELS, RecommenderConfig
from cerec.settings.train import SignalConfig, TrainConfig

LINEAR, COTRAINED = "linear", "cotrained"
OURS = (LINEAR, COTRAINED)


@settings("")
class RunConfig:
    """All settings of a run; a TOML file has one table per field."""

    filters: FilterConfig = dataclasses.field(default_factory=FilterConfig)
    split: SplitConfig = dataclasses.field(default_factory=SplitConfig)
    recommender: RecommenderConfig = dataclasses.field(default_factory=RecommenderConfig)
    signals: SignalConfig = dataclasses.field(default_factory=SignalConfig)
    encoder: EncoderConfig = dataclasses.field(default_factory=EncoderConfig)
    agent: AgentConfig = dataclasses.field(default_factory=AgentConfig)
    train: TrainConfig = dataclasses.field(default_factory=TrainConfig)
    model: dict[str, Any] = dataclasses.field(default_factory=lambda: {"name": LINEAR})
    """The recommender: `name` and its settings. `linear` (the default) has those of
    `LinearConfig`; `cotrained` is the paper's system, with the tables `recommender`, `signals`,
    `encoder`, `agent` and `train`; other packages offer more."""

    def __post_init__(self) -> None:
        if not isinstance(self.model.get("name"), str):
            raise ConfigError("[model] needs a name, such as linear or cotrained")

    @staticmethod
    def of(
        tables: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        preset: str | None = None,
        file: str | Path | None = None,
        model: str | None = None,
        below: RunConfig | None = None,
    ) -> RunConfig:
        """The settings `below`, on top of them a preset, a TOML file, a model, and tables such as
        `{"train": {"epochs": 50}}`, in this order: what `--preset`, `--config`, `--model` and
        `--set` are on the command line.
        """
        path = None if file is None else Path(file)
        table = merged(
            to_table(below) if below else {},
            {} if preset is None else preset_tables(preset),
            read_tables(path) if path else {},
        )
        if model in MODELS:
            table = merged(table, {"recommender": {"model": model}})
        if model is not None:
            own = COTRAINED if model in MODELS else _known(model)
            same = table.get("model", {}).get("name", LINEAR) == own
            table["model"] = {**(table.get("model", {}) if same else {}), "name": own}
        table = merged(table, tables or {})
        if "model" in table:
            table["model"] = {"name": LINEAR, **table["model"]}
        over = {f"{section}.{key}" for section, values in (tables or {}).items() for key in values}
        try:
            return parse(RunConfig, table).resolved()
        except ConfigError as error:
            line = path and _line_of(_text(path), str(error), over)
            raise ConfigError(f"{path}, line {line}: {error}" if line else str(error)) from None

    @property
    def linear(self) -> LinearConfig | None:
        """The settings of the default recommender; None where another is trained."""
        name, rest = self.model["name"], {k: v for k, v in self.model.items() if k != "name"}
        return parse(LinearConfig, rest, "model") if name == LINEAR else None

    @property
    def system(self) -> tuple[str, Any] | None:
        """Name and settings of a model of another package; None where one of ours is trained."""
        return None if self.model["name"] in OURS else resolve(self.model)

    def resolved(self) -> RunConfig:
        """The same with every setting of `model` written out; one that is not sound is refused."""
        if (settings := self.linear) is not None:
            return dataclasses.replace(self, model={"name": LINEAR, **to_table(settings)})
        if (found := self.system) is not None:
            return dataclasses.replace(self, model={"name": found[0], **to_table(found[1])})
        if strange := [key for key in self.model if key != "name"]:
            raise ConfigError(
                f"model.{strange[0]} is unknown: the settings of cotrained are in the tables "
                "recommender, signals, encoder, agent and train"
            )
        return self


def _known(model: str) -> str:
    """The name of a model, refused where there is none of that name."""
    if model not in (names := [*OURS, *MODELS, *installed()]):
        hint = near_matches(model, names, most=1) or names
        raise ConfigError(f"unknown model {model!r}; did you mean {' or '.join(hint)}?")
    return model


PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "paper": {
        "model": {"name": COTRAINED},
        "filters": {"k_core": 10, "min_entity": 10, "min_relation": 50},
        "split": {"method": "ratio", "train": 0.6, "valid": 0.2, "test": 0.2},
        "recommender": {
            "model": "climf",
            "dim": 64,
            "optimiser": "sgd",
            "learning_rate": 0.02,
            "l2": 0.03,
            "batch": 256,
        },
        "signals": {"negatives": "uniform", "counterfactuals": "literal", "chooser": "agent"},
        "encoder": {"size": 64, "layers": 2, "start": "random", "centre": False},
        "agent": {
            "list_length": 20,
            "widest": 1.0,
            "attention": "paper",
            "similarity": "encoder",
            "credit": "step",
            "entropy": 0.0,
            "starts": "positives",
            "draws": 4,
            "learning_rate": 0.01,
            "updates": 4,
        },
        "train": {"epochs": 400, "warmup": 1, "agent_every": 1},
    }
}
"""Settings to start from. `paper`: the paper's system; docs/concepts/method.md has the paper's
words for each, and what the paper leaves open."""


def preset_tables(name: str) -> dict[str, dict[str, Any]]:
    """A copy of the settings of a preset."""
    if name not in PRESETS:
        hint = near_matches(name, PRESETS, most=1) or list(PRESETS)
        raise ConfigError(f"unknown preset {name!r}; did you mean {' or '.join(hint)}?")
    return {section: dict(values) for section, values in PRESETS[name].items()}


def merged(*parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Tables of settings, the later over the earlier."""
    out: dict[str, Any] = {}
    for part in parts:
        for section, values in part.items():
            if not isinstance(values, Mapping):
                raise ConfigError(f"[{section}] must be a table, got {values!r:.60}")
            out[section] = {**out.get(section, {}), **values}
    return out


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(_text(path))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; name a TOML file of settings") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a TOML file of settings; their keys and values are not looked at yet."""
    found = read_toml(path)
    for name, value in found.items():
        if not isinstance(value, dict):
            message = f"[{name}] must be a table, got {value!r:.60}"
            raise ConfigError(f"{path}, line {_line_of(_text(path), message)}: {message}")
    return found


def _line_of(text: str, message: str, over: Collection[str] = ()) -> int | None:
    """The line of the setting that a message names; settings in `over` are not looked for."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([\w-]+)\s*\]", line):
            section = header[1]
            said = [f"{section!r} at the top level", f"[{section}] must"]
        elif (pair := re.match(r"\s*([\w-]+)\s*=", line)) and f"{section}.{pair[1]}" not in over:
            key, name = pair[1], f"{section}.{pair[1]}"
            said = [f"{name} ", f"{name},", f"{key!r} in [{section}]", f"[{key}] must"]
            said.append(f"{key!r} at the top level")
        else:
            continue
        if any(words in f"{message} " for words in said):
            return number
    return None


def apply_sets(table: dict[str, Any], sets: Iterable[str]) -> dict[str, Any]:
    """A copy of `table` with `section.key=value` assignments made (values in TOML notation)."""
    merged = {k: dict(v) if isinstance(v, Mapping) else v for k, v in table.items()}
    for text in sets:
        name, equals, value = text.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot or not key:
            raise ConfigError(f"--set takes section.key=value, got {text!r}")
        values = merged.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"[{section}] must be a table, got {values!r}")
        values[key] = _toml_value(value.strip())
    return merged


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a bare word is a string


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """`section.key` of every setting that two nested tables do not share."""
    out = []
    for name in dict.fromkeys([*left, *right]):
        one, other = left.get(name), right.get(name)
        if isinstance(one, Mapping) or isinstance(other, Mapping):
            tables = (side if isinstance(side, Mapping) else {} for side in (one, other))
            out += [f"{name}.{key}" for key in differences(*tables)]
        elif one != other:
            out.append(name)
    return out


def to_table(config: Any) -> dict[str, Any]:
    """Nested tables of a config; settings that are None are left out."""
    table: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            table[field.name] = to_table(value)
        elif value is not None:
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def to_toml(config: Any) -> str:
    """TOML text that `parse` reads back to an equal config."""
    lines: list[str] = []
    table = to_table(config)
    lines += [f"{k} = {literal(v)}" for k, v in table.items() if not isinstance(v, dict)]
    for section, values in table.items():
        if isinstance(values, dict):
            lines += ["", f"[{section}]", *(f"{k} = {literal(v)}" for k, v in values.items())]
    return "\n".join(lines).strip() + "\n"


def literal(value: Any) -> str:
    """A value in TOML notation."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(float(value) if isinstance(value, float) else value)  # NumPy's is a float too
