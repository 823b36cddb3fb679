"""`cerec settings`: every setting with its meaning and default, as a file to start from."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from cerec.cli.console import out
from cerec.errors import ConfigError, near_matches
from cerec.settings.base import parse
from cerec.settings.models import find, installed
from cerec.settings.run import LINEAR, PRESETS, RunConfig, literal, preset_tables, to_table


def settings(
    section: Annotated[
        str | None, typer.Argument(help="One table, e.g. agent, or a model, e.g. kgat.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--preset", help=f"With those of a preset: {', '.join(PRESETS)}.")
    ] = None,
) -> None:
    """Print every setting with its meaning and default, as TOML.

    Example: cerec settings > run.toml, then: cerec train demo --out runs/demo --config run.toml
    """
    tables = sections(start)
    if section is not None:
        names = [*tables, *installed()]
        if section not in names:
            near = near_matches(section, names, most=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"
            raise ConfigError(f"unknown table {section!r}; {hint}")
        tables = {section: tables[section] if section in tables else find(section).config()}
    out.file.write("\n".join(block for name, c in tables.items() for block in text(name, c)) + "\n")


def sections(start: str | None = None) -> dict[str, Any]:
    """The tables of a run's settings; that of the model as its settings, or as its name alone."""
    config = parse(RunConfig, preset_tables(start) if start is not None else {})
    found = {name: getattr(config, name) for name in RunConfig.__dataclass_fields__}
    return found | {"model": config.linear or config.model["name"]}


def text(name: str, config: Any) -> list[str]:
    """One table as TOML, each key under what it means."""
    if isinstance(config, str):
        words = "The recommender; its settings are those of the other tables."
        return [*comment(words), f"[{name}]", f"name = {literal(config)}", ""]
    lines = [*comment(inspect.getdoc(type(config)) or ""), f"[{name}]"]
    if name == "model" or name not in RunConfig.__dataclass_fields__:
        lines[-1:] = ["[model]", f"name = {literal(LINEAR if name == 'model' else name)}"]
    values, meanings = to_table(config), described(type(config))
    hints = get_type_hints(type(config))
    for key in config.__dataclass_fields__:
        lines += comment(meanings.get(key, ""))
        if get_origin(hints[key]) is Literal:
            lines += comment(f"One of: {', '.join(map(str, get_args(hints[key])))}.")
        lines.append(f"{key} = {literal(values[key])}" if key in values else f"# {key} is not set")
    return [*lines, ""]


def described(cls: type) -> dict[str, str]:
    """The docstring under each field of a dataclass."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    out: dict[str, str] = {}
    last = ""
    for part in getattr(body, "body", []):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            last = part.target.id
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and last:
            out[last] = inspect.cleandoc(str(part.value.value))
    return out


def comment(words: str) -> list[str]:
    """The words as comment lines."""
    return textwrap.wrap(" ".join(words.split()), 88, initial_indent="# ", subsequent_indent="# ")
