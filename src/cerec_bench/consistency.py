"""Comparing explainers on several recommenders: `cerec bench explanations`, and table III.

results = consistency(["demo"], Plan(methods=("rdexp-own", "cerec"), truths=("planted",)),
                      Path("consistency"))
write_report(Path("consistency"), results)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cerec.data.load import load
from cerec.errors import ConfigError
from cerec.runs.run import Run, open_run
from cerec.runs.train import train
from cerec.settings.run import RunConfig
from cerec_bench.explainers.cells import Cell
from cerec_bench.explainers.protocol import AgentSetup
from cerec_bench.explainers.report import summary_of
from cerec_bench.explainers.runner import Comparison, Plan, Subject
from cerec_bench.explainers.summary import Line
from cerec_bench.scorers import scorer_of

Results = dict[str, tuple[list[Line], dict[str, Any]]]
"""Name of the data -> lines of the table and what they rest on."""


def subject_of(run: Run, *, agent_epochs: int | None = None) -> Subject:
    """A run as the subject of a comparison; its agent is learned anew with every seed.

    `agent_epochs`: how long; None: as long as in the run's settings.
    """
    epochs = run.config.train.agent_epochs if agent_epochs is None else agent_epochs
    setup = AgentSetup(agent=run.config.agent, encoder=run.config.encoder, epochs=epochs)
    return Subject(
        run.data.name, run.data, run.split, scorer_of(run), run.config.recommender.l2, setup
    )


def subjects(
    sources: Sequence[str | Path],
    folder: Path,
    *,
    config: RunConfig | None = None,
    agent_epochs: int | None = None,
) -> list[Subject]:
    """Run folders are opened; data are trained on with `config` (by default the paper's system),
    into `folder`, once.

    Two sources with data of the same name are told apart by the name of their folder.
    """
    found: dict[str, Subject] = {}
    for source in sources:
        if (Path(source) / "run.json").exists():
            run = open_run(source)
        else:
            run = _trained(source, folder, config or RunConfig.of(preset="paper"))
        subject = subject_of(run, agent_epochs=agent_epochs)
        if subject.name in found:
            subject = replace(subject, name=Path(source).name)
        if subject.name in found:
            raise ConfigError(f"{source}: two sources are named {subject.name!r}; give one")
        found[subject.name] = subject
    return list(found.values())


def _trained(source: str | Path, folder: Path, config: RunConfig) -> Run:
    data = load(source)
    # the agent of the comparison is learned for every seed; the run needs none of its own
    alone = replace(config, train=replace(config.train, agent_epochs=0))
    run = train(data, alone, seed=0, out=folder / "runs" / data.name, resume=True)
    run.config = config
    return run


def consistency(
    sources: Sequence[str | Path],
    plan: Plan,
    folder: Path,
    *,
    config: RunConfig | None = None,
    agent_epochs: int | None = None,
    on_start: Callable[[str, int], None] | None = None,
    on_cell: Callable[[str, Cell, bool], None] | None = None,
) -> Results:
    """Run the plan on every source; finished cells in `folder` are kept.

    `on_start` is told the name of a subject and its cells in all, `on_cell` every finished cell
    and whether it was there before.
    """
    results: Results = {}
    for subject in subjects(sources, folder, config=config, agent_epochs=agent_epochs):
        name = subject.name

        def told(cell: Cell, known: bool, name: str = name) -> None:
            if on_cell is not None:
                on_cell(name, cell, known)

        comparison = Comparison(subject, plan, folder / name, on_cell=told)
        if on_start is not None:
            on_start(name, comparison.size)
        comparison.run()
        results[name] = summary_of(comparison)
    return results
