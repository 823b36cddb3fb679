"""`cerec demo`: the whole story on the built-in world, in about a minute."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cerec.cli.arguments import named
from cerec.cli.console import out, progress
from cerec.cli.train import figures
from cerec.errors import RunError
from cerec.runs.folder import read_facts
from cerec.runs.run import Run
from cerec.settings.run import RunConfig

K = 10
NOTED = ("loss", "reward", "ndcg@20")


def demo(
    folder: Annotated[
        Path,
        typer.Option(
            "--out", parser=named, metavar="PATH", help="Where the run and the report go."
        ),
    ] = Path("demo-run"),
    seed: Annotated[int, typer.Option(help="Same seed, same story.")] = 0,
) -> None:
    """Generate a small world, train on it, and explain one user's list.

    Example: cerec demo --out demo-run
    """
    from cerec.data.synthetic.generate import demo as make_world
    from cerec.recommend.popularity import popularity
    from cerec.runs.train import train

    data = make_world()
    if (folder / "run.json").exists() and read_facts(folder)["data"].get("name") != data.name:
        raise RunError(f"{folder}: holds a run of other data; choose another --out")
    out.rule(Text.assemble(("cerec demo", "bold"), ": why was this recommended?"))
    out.print(
        f"A made-up world of films: [bold]{len(data.users):,}[/bold] people, "
        f"[bold]{len(data.items):,}[/bold] films, [bold]{len(data.interactions):,}[/bold] views, "
        f"[bold]{len(data.triples):,}[/bold] facts ({', '.join(data.relations.names)}).",
        markup=True,
    )
    with progress() as bar:
        task = bar.add_task("training", total=None, note="")

        def show(row: dict[str, Any]) -> None:
            bar.update(task, description=row["phase"], note=figures(row, NOTED))

        config = RunConfig.of({"model": {"agent": True}})
        run = train(data, config, seed=seed, out=folder, force=True, on_row=show)
    if not run.meta["finished"]:
        raise KeyboardInterrupt  # training keeps its best state; the story would not be worth it
    _show_figures(run, popularity(run.split.train, len(data.items)))
    user = _interesting_user(run)
    _show_user(run, user)
    listed = [line.item for line in run.recommend(user, k=K + 5)]
    _tell("Why these?", "The smallest changes that would have taken them out:")
    for item in listed[:3]:
        out.print(run.explain(user, item, k=K))
    _tell("The paper's own answer,", "by the agent that walks from film to attribute to film:")
    out.print(run.explain(user, listed[0], k=K, by="agent"))
    _tell("And why not this one?")
    out.print(run.explain(user, why_not=listed[-1], k=K))
    _show_coverage(run)
    _show_next(run, folder, user, listed[0])


def _tell(bold: str, rest: str = "") -> None:
    out.print(bold, style="bold", end=" ")
    out.print(rest)


def _show_figures(run: Run, popular: Any) -> None:
    from cerec.runs.evaluate import final_figures

    names = ("recall@20", "ndcg@20", "hr@20")
    table = Table("recommender", title="Held-out items found (test part, mean over users)")
    for name in names:
        table.add_column(name, justify="right")
    for made, metrics in {
        "cerec": run.metrics,
        "popular": final_figures(popular, run.split),
    }.items():
        table.add_row(made, *(f"{metrics['test'][name]:.3f}" for name in names))
    out.print(table)
    out.print(f"Trained in {run.meta['seconds']:.0f} s on this CPU.\n")


def _interesting_user(run: Run) -> str:
    """The first user, of those with a middling number of films, whose list explains shortly."""
    counts = run.known.counts
    order = np.argsort(np.abs(counts - np.median(counts)), kind="stable")
    for row in order[:20].tolist():
        user = run.data.users[row]
        listed = run.recommend(user, k=3)
        found = list(run.explain_many(((user, line.item) for line in listed), k=K))
        if all(e.status == "verified" and e.size <= 2 for e in found):
            return user
    return run.data.users[int(order[0])]


def _show_user(run: Run, user: str) -> None:
    data = run.data
    known = run.known.row(data.users.row(user)).tolist()
    names = [data.items.name(i) for i in known]
    liked = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    out.print(Panel(liked, title=f"{data.users.name(data.users.row(user))} watched"))
    table = Table(title=f"and gets this top {K}")
    for name in ("rank", "film", "what it is", "score"):
        table.add_column(name, justify="right" if name in ("rank", "score") else "left")
    for line in run.recommend(user, k=K):
        table.add_row(str(line.rank), line.name, _summary(run, line.item), f"{line.score:.2f}")
    out.print(table)


def _summary(run: Run, item: str) -> str:
    pairs = dict(reversed(run.attributes(item)))
    entities = run.data.entities
    shown = [pairs[r] for r in ("genre", "director", "decade") if r in pairs]
    return ", ".join(entities.name(entities.row(a)) for a in shown)


def _show_coverage(run: Run) -> None:
    started, pairs = time.perf_counter(), list(run.listed_pairs(K))
    outcomes: Counter[str] = Counter()
    with progress() as bar:
        task = bar.add_task("explaining every list", total=len(pairs), note="")
        for e in run.explain_many(pairs, k=K):
            bar.advance(task)
            outcomes[e.status] += 1
            if e.found:
                outcomes[f"  of {e.size} change{'s' * (e.size > 1)}"] += 1
                outcomes["  by the user's history"] += e.by == "history"
    seconds = time.perf_counter() - started
    table = Table("outcome", title=f"Every listed pair of the world, {len(pairs):,} explanations")
    table.add_column("pairs", justify="right")
    table.add_column("share", justify="right")
    for name, n in sorted(outcomes.items(), key=lambda pair: (pair[0][0] == " ", pair[0])):
        table.add_row(name, f"{n:,}", f"{n / len(pairs):.1%}")
    out.print(table)
    out.print(
        f"{len(pairs) / seconds:,.0f} explanations a second, each checked by scoring again.\n"
    )


def _show_next(run: Run, folder: Path, user: str, item: str) -> None:
    from cerec.serve.report import write_report

    page = write_report(run, folder / "report.html", k=K)
    out.print("The same with pictures, to look at or to mail: ", end="")
    out.print(f"{page}\n", style="bold")
    about = f"{folder} --user {user} --item {item}"
    relation, attribute = run.attributes(item)[0]
    out.rule("try next")
    for command in (
        f"cerec explain {about} --alternatives 3",
        f"cerec what-if {about} --remove {relation}={attribute}",
        f"cerec recommend {folder} --user {user}",
        f"cerec serve {folder} --open",
        "cerec data check YOUR_FOLDER",
        "cerec train YOUR_FOLDER --out runs/mine",
    ):
        out.print(f"  {command}", soft_wrap=True)
