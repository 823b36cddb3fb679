r"""Ids with tabs or line ends, in formats that have no quotes.

A folder written with such ids holds `cerec.json` with `"escaped": true`; then, and only then, a
backslash in its texts is special: `\t`, `\n`, `\r`, `\\`. A folder of plain tables of ours holds
`"exact": true`: its cells mean what they say, nothing is guessed.
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


def is_marked(folder: Path, what: str = "escaped") -> bool:
    """True when the texts of a folder were written by `escape` (or, say, are "exact")."""
    path = folder / MARK
    if not path.is_file():
        return False
    try:
        return bool(json.loads(path.read_text(encoding="utf-8"))[what])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise DataError(
            f'{path}: expected {{"{what}": true}}; write the folder again, or remove the file'
        ) from None


def mark(folder: Path, what: str = "escaped") -> None:
    """Tell readers of `folder` that its texts are escaped (or exact)."""
    (folder / MARK).write_text(json.dumps({what: True}) + "\n", encoding="utf-8")
