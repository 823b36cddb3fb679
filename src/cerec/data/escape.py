r"""Ids with tabs or line ends, in formats that have no quotes.

A folder written with such ids holds `cerec.json` with `"escaped": true`; then, and only then, a
backslash in its texts is special: `\t`, `\n`, `\r`, `\\`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from cerec.errors import DataError

MARK = "cerec.json"
_SPECIAL = re.compile(r"[\t\n\r]")
_ESCAPE = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_PLAIN = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def needs_escape(texts: Iterable[str]) -> bool:
    """True when one of the texts cannot stand in a line of tab-separated fields."""
    return _SPECIAL.search("".join(texts)) is not None


def escape(text: str) -> str:
    """`text` on one line and without tabs."""
    return text.translate(_ESCAPE)


def unescape(text: str) -> str:
    """What `escape` was given."""
    return re.sub(r"\\[\\tnr]", lambda m: _PLAIN[m[0]], text)


def is_escaped(folder: Path) -> bool:
    """True when the texts of a folder were written by `escape`."""
    path = folder / MARK
    if not path.is_file():
        return False
    try:
        mark = json.loads(path.read_text(encoding="utf-8"))
        return bool(mark["escaped"])
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f'{path}: expected {{"escaped": true}}; write the folder again, or remove the file'
        ) from None


def mark_escaped(folder: Path) -> None:
    """Tell readers of `folder` that its texts are escaped."""
    (folder / MARK).write_text(json.dumps({"escaped": True}) + "\n", encoding="utf-8")
