"""The default recommender's dial, shares of lift and cold items: results and their page.

    python experiments/readable.py --data FOLDER [--sets demo,ml-100k]
    python experiments/readable.py --page      the page alone

FOLDER holds the sets by name; `demo` is generated. Results go to
results/readable/SET.json, the page to docs/results/readable.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cerec
from cerec.files import write_json
from cerec.threads import set_threads
from cerec_bench.readable import measured

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results" / "readable"
PAGE = ROOT / "docs" / "results" / "readable.md"
SETS = ("demo", "ml-100k", "amazon-beauty")
HEAD = Path(__file__).with_name("readable_head.md")


def page() -> str:
    """The page, from the result files alone."""
    found = [json.loads(p.read_text()) for p in map(_path, SETS) if p.exists()]
    return HEAD.read_text(encoding="utf-8") + "".join(map(_section, found))


def _path(name: str) -> Path:
    return FOLDER / f"{name}.json"


def _section(r: dict[str, Any]) -> str:
    lines = [
        f"\n## {r['set']}\n",
        f"{r['users']:,} users; answers for the lists of {r['explained']:,} of them.\n",
        "| times | recall@20 | NDCG@20 | answered |\n|---|---|---|---|",
    ]
    lines += [
        f"| {x['times']:g} | {x['recall']:.4f} | {x['ndcg']:.4f} | {x['answered']:.0%} |"
        for x in r["dial"]
    ]
    whole, share = r["shares"]["without"], r["shares"]["share"]
    lines.append("\n| part | share of the lift | recall@20 without |\n|---|---|---|")
    lines += [
        f"| {name} | {x['share']:.2f} ({x['low']:.2f} to {x['high']:.2f}) "
        f"| {whole[name]['recall']:.4f} |"
        for name, x in share.items()
    ]
    lines.append(f"| nothing | | {whole['nothing']['recall']:.4f} |")
    c = r["cold"]
    lines.append(
        f"\n{c['items']:,} cold items, {c['users']:,} users:\n\n"
        "| | recall@20 | NDCG@20 |\n|---|---|---|"
    )
    lines += [
        f"| {name} | {c[name]['recall']:.4f} | {c[name]['ndcg']:.4f} |"
        for name in ("linear", "content-kNN", "popularity")
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the sets asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of the sets")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--page", action="store_true", help="write the page alone")
    asked = parser.parse_args()
    set_threads()
    for name in () if asked.page else asked.sets.split(","):
        data = cerec.load("demo") if name == "demo" else cerec.load(asked.data / name)
        write_json(_path(name), measured(data))
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
