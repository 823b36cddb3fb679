"""The settings of every compared system beside its authors', for the page that includes them.

`docs/systems/NAME.md` holds the words and includes `docs/systems/generated/NAME.md`, which is
written when the documentation is built.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from cerec.files import replacing
from cerec_bench.report.tables import Grid
from cerec_bench.systems.registry import SYSTEMS


def write_presets(folder: Path) -> list[Path]:
    """One file per system in `folder`."""
    made = [folder / f"{name}.md" for name in SYSTEMS]
    for path in made:
        with replacing(path) as target:
            target.write_text(f"## Settings\n\n{presets(path.stem).markdown()}\n", encoding="utf-8")
    return made


def presets(name: str) -> Grid:
    """A row per setting."""
    system = SYSTEMS[name]
    plain, authors = system.config(), system.authors
    names = [f.name for f in dataclasses.fields(system.config)]
    rows = [
        [f"`{n}`", _text(getattr(plain, n)), _text(authors.get(n, "not stated"))] for n in names
    ]
    caption = f"`cerec train FOLDER --model {name} --set model.{names[0]}=...`"
    return Grid(caption, ["setting", "here", "the authors'"], rows)


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
