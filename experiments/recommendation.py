"""The paper's table II on open data: runs `cerec bench compare` on every set and writes the page.

    python experiments/recommendation.py --data FOLDER [--sets ml-100k,ml-1m]
    python experiments/recommendation.py --page      the page alone

FOLDER holds the sets by name; cells are kept under --cache, so a stopped run goes on. Tables go to
docs/results/recommendation/SET.json and .csv, the page to docs/results/recommendation.md.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

from quoted import filled

from cerec_bench.compare.page import published_section, read_published, set_section

OUT = Path(__file__).parents[1] / "docs" / "results"
FOLDER = OUT / "recommendation"
HEAD = Path(__file__).with_name("recommendation_head.md")
MODELS = (
    "popularity,itemknn,ease,ials,bpr,lightgcn,neumf,mcrec,kgpolicy,kgqr,kgat,cerec-paper,linear"
)
RARE = "--set filters.min_entity=10 --set filters.min_relation=50"
WIKI = '["*wikiPageWikiLink*","*rdf-syntax-ns#type*"]'
SETS = {
    "ml-100k": f"--seeds 5 --budget 2 --seconds 30 {RARE} --set filters.k_core=10",
    "amazon-beauty": f"--seeds 5 --budget 2 --seconds 40 {RARE}",
    "ml-1m": f"--seeds 5 --budget 2 --seconds 60 {RARE} --set 'filters.leave_out={WIKI}'",
    "last-fm": f"--seeds 1 --budget 1 --seconds 90 {RARE}",
    "yelp2018-partial": f"--seeds 1 --budget 1 --seconds 90 {RARE}",
}
"""Options of `cerec bench compare` for every set, beside those all sets share."""
SHARED = f"--models {MODELS} --valid-users 2000"
THEIRS = {"last-fm": "last-fm", "yelp2018-partial": "yelp2018"}
"""Sets that are (part of) a set of the paper's."""


def command(name: str, folder: str = "FOLDER", out: str = "compared") -> str:
    """The comparison of one set, as one would type it."""
    return f"cerec bench compare {folder}/{name} {SHARED} {SETS[name]} --out {out}/{name}"


def made_by(name: str, table: dict[str, Any]) -> str:
    """The command a finished table came from, and the systems it lacks."""
    about = table["about"]
    models = [line["model"] for line in table["lines"]]
    filters = "".join(
        f" --set {shlex.quote(f'filters.{key}={json.dumps(value)}')}"
        for key, value in about["filters"].items()
    )
    words = (
        f"cerec bench compare FOLDER/{name} --models {','.join(models)} --seeds {about['seeds']} "
        f"--budget {about['trials']} --seconds {about['fit']['seconds']:.0f} "
        f"--valid-users {about['valid_users']}{filters} --out compared/{name}"
    )
    missing = [model for model in MODELS.split(",") if model not in models]
    lacks = f"\n\nNot computed: {', '.join(missing)}." if missing else ""
    return f"    {words}{lacks}"


def run(name: str, data: Path, cache: Path) -> None:
    """Compute what is missing of a set, and take its tables over."""
    from cerec.cli.app import run as cerec

    words = shlex.split(command(name, str(data), str(cache)))[1:]
    if code := cerec(words):
        raise SystemExit(code)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind in ("json", "csv"):
        shutil.copy(cache / name / f"table.{kind}", FOLDER / f"{name}.{kind}")


_SHORT = re.compile(r"\{([\w-]+) (\w+) (\w+@\d+)\}")


def spelled(head: str) -> str:
    """`{ml-100k cerec recall@20}` in full, with four digits."""
    full = r"{{recommendation/\1.json | lines/\2/figures/\3 | .4}}"
    return _SHORT.sub(lambda m: m.expand(full), head)


def page() -> str:
    """The whole page, from the files in `FOLDER`."""
    published = read_published(FOLDER / "paper.csv")
    parts = [filled(spelled(HEAD.read_text(encoding="utf-8"))).strip()]
    there = [name for name in SETS if (FOLDER / f"{name}.json").exists()]
    for name in there:
        table = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        parts.append(set_section(table, [p for p in published if p.set == THEIRS.get(name)]))
        parts.append(f"The command, `FOLDER` holding the sets by name:\n\n{made_by(name, table)}")
    parts.append("## The paper's table II\n\n" + published_section(published))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Compute what is asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder that holds the sets")
    parser.add_argument("--sets", default=",".join(SETS), help="names, comma-separated")
    parser.add_argument("--cache", type=Path, default=Path("compared"), help="where cells go")
    parser.add_argument("--page", action="store_true", help="only write the page")
    args = parser.parse_args()
    if not args.page:
        if args.data is None:
            parser.error("--data FOLDER is needed to compute; --page writes the page alone")
        for name in args.sets.split(","):
            run(name, args.data, args.cache)
    (OUT / "recommendation.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
