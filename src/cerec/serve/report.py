"""The run as one HTML file that needs nothing else: to mail, to keep, to print."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cerec.files import refuse_folder, replacing
from cerec.serve.overview import audited, overview, run_facts
from cerec.serve.page import load_files
from cerec.serve.service import timeless

if TYPE_CHECKING:
    from cerec.runs.run import Run

MODULES = (
    "dom.js",
    "drawing.js",
    "scale.js",
    "graph.js",
    "card.js",
    "charts.js",
    "recommender.js",
    "runview.js",
    "report.js",
)
"""Of the page, in the order of their imports; their top-level names are distinct."""
_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def write_report(
    run: Run, path: str | Path, *, users: int = 3, items: int = 4, k: int = 20
) -> Path:
    """Write the report of a run: its view, and `users` people with `items` explained items each."""
    target = Path(path)
    refuse_folder(target)
    text = report_html(run, users=users, items=items, k=k)
    with replacing(target) as new:
        new.write_text(text, encoding="utf-8")
    return target


def report_html(run: Run, *, users: int = 3, items: int = 4, k: int = 20) -> str:
    """The report as text. Equal runs give equal reports."""
    files = load_files()
    style = files["style.css"].body.decode()
    script = _bundle({name: files[name].body.decode() for name in MODULES})
    data = {
        "facts": run_facts(run),
        "overview": overview(run, k) | {"audit": audited(run, k)},
        "people": [_person(run, user, items, k) for user in _chosen(run, users)],
    }
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    # "<" cannot end the script element when it is written as an escape
    inner = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    title = html.escape(f"{run.data.name}: explained recommendations")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>\n"
        '<body><main class="run" id="report"></main>'
        f'<script type="application/json" id="data">{inner}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def _bundle(modules: dict[str, str]) -> str:
    """The modules as one script: imports and exports go, since all names meet in one scope."""
    body = "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in modules.values())
    return f"(() => {{\n'use strict';\n{body}\n}})();"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _chosen(run: Run, n: int) -> list[str]:
    """Users with a middling history, spread over the catalogue of users."""
    counts = run.known.counts
    order = np.lexsort((np.arange(len(counts)), np.abs(counts - np.median(counts))))
    return [run.data.users[int(row)] for row in sorted(order[:n].tolist())]


def _person(run: Run, user: str, items: int, k: int) -> dict[str, Any]:
    row = run.data.users.row(user)
    known = run.known.row(row).tolist()
    listed = run.recommend(user, k)
    return {
        "user": {"id": user, "name": run.data.users.name(row)},
        "history": [run.data.items.name(i) for i in known[:12]],
        "known": len(known),
        "list": [{"item": r.item, "name": r.name, "rank": r.rank} for r in listed[:items]],
        "explanations": [
            timeless(e) for e in run.explain_many(((user, r.item) for r in listed[:items]), k=k)
        ],
    }
