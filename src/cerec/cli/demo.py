"""`cerec demo`: the whole story on the built-in world, in about a minute."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cerec.cli.arguments import named
from cerec.cli.console import out, progress, tell_compiling
from cerec.cli.train import figures
from cerec.errors import RunError
from cerec.explain.explanation import Explanation
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
    _show_training(run, popularity(run.split.train, len(data.items)))
    tell_compiling()
    user = _interesting_user(run)
    _show_user(run, user)
    explained = _show_explanations(run, user)
    _show_agent(run, user, explained[0].item)
    _show_why_not(run, user)
    _show_coverage(run)
    _show_next(run, folder, user, explained)


def _show_training(run: Run, popular: Any) -> None:
    from cerec.runs.evaluate import final_figures

    table = Table(title="Held-out items found (test part, mean over users)")
    for name in ("recommender", "recall@20", "ndcg@20", "hr@20"):
        table.add_column(name, justify="left" if name == "recommender" else "right")
    lines = {"cerec": run.metrics, "most popular": final_figures(popular, run.split)}
    for name, metrics in lines.items():
        test = metrics["test"]
        table.add_row(name, *(f"{test[m]:.3f}" for m in ("recall@20", "ndcg@20", "hr@20")))
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


def _show_explanations(run: Run, user: str) -> list[Explanation]:
    out.print()
    out.print("Why these?", style="bold", end=" ")
    out.print("The smallest changes that would have taken them out:")
    found = []
    for line in run.recommend(user, k=3):
        found.append(run.explain(user, line.item, k=K))
        out.print(found[-1])
    return found


def _show_agent(run: Run, user: str, item: str) -> None:
    out.print("The paper's own answer,", style="bold", end=" ")
    out.print("by the agent that walks from film to attribute to film:")
    out.print(run.explain(user, item, k=K, by="agent"))


def _show_why_not(run: Run, user: str) -> None:
    out.print("And why not this one?", style="bold")
    unlisted = run.recommend(user, k=K + 5)[-1]
    out.print(run.explain(user, why_not=unlisted.item, k=K))


def _show_coverage(run: Run) -> None:
    started = time.perf_counter()
    status: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    history = 0
    for e in _all(run):
        status[e.status] += 1
        if e.found:
            sizes[e.size] += 1
            history += e.by == "history"
    seconds = time.perf_counter() - started
    total = sum(status.values())
    table = Table(title=f"Every listed pair of the world, {total:,} explanations")
    for name in ("outcome", "pairs", "share"):
        table.add_column(name, justify="left" if name == "outcome" else "right")
    for name, n in status.most_common():
        table.add_row(name, f"{n:,}", f"{n / total:.1%}")
    for size in sorted(sizes):
        table.add_row(
            f"  of {size} change{'s' * (size > 1)}",
            f"{sizes[size]:,}",
            f"{sizes[size] / total:.1%}",
        )
    table.add_row("  by the user's history", f"{history:,}", f"{history / total:.1%}")
    out.print(table)
    out.print(f"{total / seconds:,.0f} explanations a second, each checked by re-scoring.\n")


def _all(run: Run) -> Iterator[Explanation]:
    pairs = list(run.listed_pairs(K))
    with progress() as bar:
        task = bar.add_task("explaining every list", total=len(pairs), note="")
        for e in run.explain_many(pairs, k=K):
            bar.advance(task)
            yield e


def _show_next(run: Run, folder: Path, user: str, explained: list[Explanation]) -> None:
    from cerec.serve.report import write_report

    page = write_report(run, folder / "report.html", k=K)
    out.print("The same with pictures, to look at or to mail: ", end="")
    out.print(f"{page}\n", style="bold")
    item = explained[0].item
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
