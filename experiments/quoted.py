"""Numbers in prose, read from the result files; few are typed, as rounded words or sizes of data.

    {{recommendation/ml-100k.json | lines/cerec/figures/recall@20 | .4}}

is the file under docs/results, the way to the number, and how it is shown: `.4` digits after the
point, `%.1` in per cent, `+.4` with its sign, `,` a whole number with commas. An element of a list
is found by its `name`, `model`, `method` or `set`; a key of all elements gives their mean, and so
does an object with a `mean`; `one over another` is a ratio. The words stand in
`experiments/*_head.md`; those of the README's table in `readme_head.md`, and

    python experiments/quoted.py

writes them into README.md.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
_TOKEN = re.compile(r"\{\{([^|{}]+)\|([^|{}]+)\|([^|{}]+)\}\}")
_NAMES = ("name", "model", "method", "set")
_TABLE = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, results: Path = RESULTS) -> str:
    """The text with every number in its place; paragraphs stay as they are broken."""

    def number(token: re.Match[str]) -> str:
        file, way, form = (part.strip() for part in token.groups())
        try:
            whole = _read(results / file)
            value, *parts = (followed(whole, one.split("/")) for one in way.split(" over "))
            return shown(value / parts[0] if parts else value, form)
        except (KeyError, TypeError, OSError) as error:
            raise ValueError(f"{token.group(0)}: no such number ({error})") from error

    return _TOKEN.sub(number, text)


def followed(value: Any, way: list[str]) -> float:
    """The number at the end of the way."""
    while way:
        if isinstance(value, list):
            named = [x for x in value if any(x.get(n) == way[0] for n in _NAMES)]
            if not named:
                each = [followed(x, way) for x in value]
                return sum(each) / len(each)
            value, way = named[0], way[1:]
            continue
        for n in range(len(way), 0, -1):  # names may hold slashes
            if "/".join(way[:n]) in value:
                value, way = value["/".join(way[:n])], way[n:]
                break
        else:
            raise KeyError("/".join(way))
    if isinstance(value, dict):
        value = value["mean"]
    if isinstance(value, list):
        return sum(value) / len(value)
    return float(value)


def shown(value: float, form: str) -> str:
    """A number in one of the forms above."""
    if form == ",":
        return f"{round(value):,}"
    match = re.fullmatch(r"(\+?)(%?)\.(\d)", form)
    if match is None:
        raise KeyError(f"no form {form!r}")
    sign, share, digits = match.groups()
    return f"{value * (100 if share else 1):{sign}.{digits}f}"


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def readme() -> str:
    """README.md with the table of what was measured, as the files have it."""
    words = filled((ROOT / "experiments" / "readme_head.md").read_text(encoding="utf-8"))
    there = (ROOT / "README.md").read_text(encoding="utf-8")
    return _TABLE.sub(lambda m: m.group(1) + words + m.group(2), there)


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")
