"""`cerec bench`: the commands together."""

from __future__ import annotations

import typer

from cerec.threads import load_torch, set_threads
from cerec_bench.cli.answers import answers
from cerec_bench.cli.audit import audit
from cerec_bench.cli.compare import compare
from cerec_bench.cli.explanations import compare_explanations
from cerec_bench.cli.firmness import stability, truth
from cerec_bench.cli.run import run

app = typer.Typer(
    help="Compare systems and explainers; the paper's tables and figures.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.callback()
def _root() -> None:
    load_torch("bench")
    import scipy.linalg  # noqa: F401  its BLAS, too, runs on one thread

    set_threads()


app.command()(answers)
app.command()(audit)
app.command()(compare)
app.command("explanations")(compare_explanations)
app.command()(run)
app.command()(stability)
app.command()(truth)
