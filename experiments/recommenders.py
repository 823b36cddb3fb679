"""The default recommender against simple rivals at full strength, with equally many looks.

    python experiments/recommenders.py --data FOLDER [--sets demo,ml-100k]
    python experiments/recommenders.py --page      the page alone

FOLDER holds the sets by name; cells are kept under --cache, so a stopped run goes on. Every
contender is fitted in a process of its own, for its peak memory. Tables go to
docs/results/recommenders/, the page to docs/results/recommenders.md.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

OUT = Path(__file__).parents[1] / "docs" / "results"
FOLDER = OUT / "recommenders"
QUICK = "linear,popularity,itemknn,rp3beta,ease,ease-weighted,slim,contentknn,gfcf,ials"
WITHOUT = "amazon-beauty-without-also-bought"
SETS = {
    "demo": (f"{QUICK},bpr,lightgcn", 12, "--seconds 15"),
    "ml-100k": (f"{QUICK},bpr,lightgcn", 12, "--seconds 15"),
    "amazon-beauty": (f"{QUICK},bpr", 8, "--seconds 15"),
    WITHOUT: ("linear,contentknn", 8, """--set 'filters.leave_out=["also bought"]'"""),
    "ml-1m": (QUICK, 8, ""),
    "yelp2018-partial": (QUICK, 6, ""),
    "last-fm": (QUICK, 4, ""),
    "alibaba-ifashion": (QUICK, 4, ""),
}
"""Contenders, settings that each may try on validation, and other options of the command."""


def command(name: str, models: str, folder: str = "FOLDER", out: str = "compared") -> str:
    """The comparison of one set, as one would type it."""
    _, looks, more = SETS[name]
    where = "demo" if name == "demo" else f"{folder}/{name.removesuffix('-without-also-bought')}"
    words = f"cerec bench compare {where} --models {models} --seeds 1 --budget {looks} --k 20"
    return f"{words} --valid-users 2000 {more} --out {out}/{name}".replace("  ", " ")


def run(name: str, data: Path, cache: Path) -> None:
    """Compute what is missing of a set, one contender at a time, and take its table over."""
    models = SETS[name][0]
    for part in (*models.split(","), models):
        words = shlex.split(command(name, part, str(data), str(cache)))
        subprocess.run([sys.executable, "-m", *words], check=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copy(cache / name / "table.json", FOLDER / f"{name}.json")


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


if __name__ == "__main__":
    main()
