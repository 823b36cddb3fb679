"""Run folders as somebody else might hand them over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cerec.files import write_json
from cerec.manifest import listing, sealed
from cerec.runs.folder import LISTED


def reseal(folder: Path, facts: dict[str, Any] | None = None) -> None:
    """Make checksums fit what lies in the folder, as one would who means harm."""
    facts = facts or json.loads((folder / "run.json").read_text())
    plain = {name: value for name, value in facts.items() if name != "seal"}
    files = listing(folder, [name for name in LISTED if (folder / name).exists()])
    write_json(folder / "run.json", sealed({**plain, "files": files}))
