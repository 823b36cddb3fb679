"""`cerec bench stability` and `cerec bench truth`: do answers hold, and are they true?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import named
from cerec.cli.console import out, remark
from cerec.files import write_json

Out = Annotated[
    Path | None, typer.Option("--out", parser=named, metavar="PATH", help="A JSON file.")
]


def stability(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...", help="Data, or world:SEED[:SETTING=VALUE,...] for a generated one."
        ),
    ],
    users: Annotated[int, typer.Option(help="Users drawn from each set; 0: all.")] = 0,
    folds: Annotated[int, typer.Option(help="Tenths left out, one after the other.")] = 2,
    fit: Annotated[
        bool, typer.Option("--fit", help="Fit the law of `holds` to these sets.")
    ] = False,
    out_file: Out = None,
) -> None:
    """Fit again without a tenth of the interactions: which answers still hold?

    Examples: cerec bench stability demo --out stability.json
              cerec bench stability world:101:taste=0.5 data/ml-100k --fit
    """
    from cerec_bench.firmness.calibration import bins, worst
    from cerec_bench.firmness.calibration import fit as fitted
    from cerec_bench.firmness.stability import World, stability
    from cerec_bench.firmness.worlds import data_of

    results, sets = {}, []
    for source in sources:
        data = data_of(source)
        found = stability(World.of(data), users=users, folds=folds)
        spread, said, held = found.pooled()
        sets.append((spread, held))
        parts = bins(said, held)
        results[data.name] = found.summary() | {
            "worst_bin": worst(parts),
            "bins": [asdict(b) for b in parts],
        }
        shown = {n: round(x, 3) for n, x in results[data.name].items() if n != "bins"}  # type: ignore[call-overload]
        out.print(f"{data.name}: {shown}")
    if fit:
        out.print(str(fitted(sets)))
    _keep(out_file, results)


def truth(
    seeds: Annotated[str, typer.Option(help="Seeds of generated worlds.")] = "1,2,3,4,5",
    out_file: Out = None,
) -> None:
    """Compare the answers with the tastes that generated worlds were made of.

    Example: cerec bench truth --seeds 1,2,3,4,5 --out truth.json
    """
    from cerec.data.synthetic.generate import WorldConfig
    from cerec_bench.firmness.truth import Truth
    from cerec_bench.firmness.truth import truth as measure

    worlds = [measure(WorldConfig(), int(seed)) for seed in seeds.split(",")]
    rows = [*worlds, Truth.mean(worlds)]
    for row in rows:
        out.print(str(row))
    _keep(out_file, [asdict(row) for row in rows])


def _keep(path: Path | None, results: object) -> None:
    if path is not None:
        write_json(path, results)
        remark(f"wrote {path}")
