"""Are the explanations right? The paper's table III, and what it cannot see.

    python experiments/consistency.py RUNS --sets demo ml-1m --cells CELLS --out docs/results

RUNS holds a run folder per data set, made by `cerec train`. Every method explains the same listed
pairs with every seed; finished cells are kept in CELLS, so a stopped run goes on. Written:
consistency/SET.json and .svg, and consistency.md, whose words are in consistency_head.md.
`--render` writes the page from the JSON files alone.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from quoted import filled

from cerec.files import write_json
from cerec.runs.run import open_run
from cerec.threads import set_threads
from cerec_bench.consistency import subject_of
from cerec_bench.explainers.cells import Cell
from cerec_bench.explainers.plot import scatter_plot
from cerec_bench.explainers.registry import METHODS
from cerec_bench.explainers.report import markdown, read_summary, summary_of
from cerec_bench.explainers.runner import Comparison, Plan
from cerec_bench.explainers.table import to_json, truths_of
from cerec_bench.explainers.truths import TRUTHS

ORDER = ("demo", "ml-1m", "amazon-beauty", "yelp2018-partial")
PAPER = """| | Amazon-book: Precision % | Recall % | F1 % | Yelp2018: Precision % | Recall % | F1 % |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| RDExp | 0.0196 ± 0.00 | 0.0090 ± 0.00 | 0.0117 ± 0.00 | 0.4595 ± 0.01 | 0.0987 ± 0.01 | 0.1320 ± 0.03 |
| NeuACF | 4.7336 ± 1.21 | 0.6171 ± 0.06 | 1.0226 ± 0.08 | 8.5603 ± 1.51 | 8.2619 ± 1.47 | 7.0589 ± 1.38 |
| CaDSI | 13.2632 ± 1.98 | 1.0897 ± 0.09 | 2.8721 ± 0.06 | 17.7322 ± 2.07 | 19.0801 ± 2.38 | 18.3096 ± 2.60 |
| CERec | **23.8969** ± 2.84 | **3.1020** ± 0.92 | **5.1411** ± 0.83 | **45.5013** ± 3.11 | **41.5931** ± 3.74 | **37.2509** ± 3.09 |
"""  # noqa: E501  the paper's table III


def measured(args: argparse.Namespace, name: str) -> None:
    """All cells of one set, then its JSON file and plot."""
    names = [n for n in METHODS if n not in args.without] if "all" in args.methods else args.methods
    plan = Plan(
        methods=tuple(names), truths=TRUTHS, seeds=args.seeds, pairs=args.pairs, draws=args.draws
    )

    def told(cell: Cell, known: bool) -> None:
        spent = "kept" if known else (cell.fit_seconds, cell.explain_seconds)
        print(name, cell.method, cell.seed, spent, cell.error, flush=True)

    subject = subject_of(open_run(args.runs / name), agent_epochs=args.agent_epochs)
    comparison = Comparison(subject, plan, args.cells / name, on_cell=told)
    if not args.kept:
        comparison.run()
    lines, about = summary_of(comparison)
    folder = args.out / "consistency"
    write_json(folder / f"{name}.json", to_json(lines, about))
    truths = [t for t in truths_of(lines) if not t.endswith("-both")]
    scatter_plot(lines, truths, folder / f"{name}.svg", name)


_SHORT = re.compile(r"\{([\w-]+) ([\w-]+) ([\w:-]+)(?: ([%+.,\d]+))?\}")


def spelled(head: str) -> str:
    """`{demo cerec f1:dns}` in full, in per cent with one digit unless a form follows."""

    def token(short: re.Match[str]) -> str:
        name, method, figure, form = short.groups()
        way = f"lines/{method}/figures/{figure}"
        return f"{{{{consistency/{name}.json | {way} | {form or '%.1'}}}}}"

    return _SHORT.sub(token, head)


def page(out: Path, head: str) -> str:
    """The page of all sets measured so far."""
    files = {n: out / "consistency" / f"{n}.json" for n in ORDER}
    results = {n: read_summary(path) for n, path in files.items() if path.exists()}
    again = [
        f"{name} {100 * a['precision']:.2f} / {100 * a['recall']:.2f} / {100 * a['f1']:.2f}"
        for name, (_, about) in results.items()
        if (a := about["truths"].get("dns", {}).get("drawn_again"))
    ]
    pictures = [f"![{name}](consistency/{name}.svg)\n" for name in results]
    return "\n".join(
        [
            filled(spelled(head), out).rstrip(),
            "",
            "## The paper's table III",
            "",
            PAPER,
            "## Ours",
            "",
            "The DNS truth drawn again with another seed, scored like an explanation, gets",
            f"(precision / recall / F1, %): {'; '.join(again)}.",
            "",
            markdown(results),
            "## Pictures",
            "",
            *pictures,
        ]
    )


def main() -> None:
    """Measure the sets asked for, then render all that have been measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--sets", nargs="*", default=["demo"])
    parser.add_argument("--methods", nargs="*", default=["all"])
    parser.add_argument("--without", nargs="*", default=[], help="of all methods")
    parser.add_argument("--cells", type=Path, default=Path("cells"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--agent-epochs", type=int, default=8)
    parser.add_argument("--kept", action="store_true", help="only cells that are there")
    parser.add_argument("--render", action="store_true", help="only write the page")
    args = parser.parse_args()
    set_threads()
    for name in [] if args.render else args.sets:
        measured(args, name)
    head = (Path(__file__).parent / "consistency_head.md").read_text()
    (args.out / "consistency.md").write_text(page(args.out, head))


if __name__ == "__main__":
    main()
