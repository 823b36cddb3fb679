"""The grid of methods and seeds: resumed after a stop, summarised, written in every form."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec.recommend.scorer import Scorer
from cerec_bench.explainers import runner as runner_module
from cerec_bench.explainers.cells import Cell
from cerec_bench.explainers.dns_truth import DnsConfig
from cerec_bench.explainers.paired import mcnemar, over_users
from cerec_bench.explainers.plot import scatter_plot
from cerec_bench.explainers.protocol import AgentSetup, Answer, Context, Pairs
from cerec_bench.explainers.registry import METHODS, Entry
from cerec_bench.explainers.report import read_summary, summary_of, write_report
from cerec_bench.explainers.runner import Comparison, Plan, Subject
from cerec_bench.explainers.summary import summarise
from cerec_bench.explainers.truths import planted

DNS = DnsConfig(rounds=3, kept=2, candidates=4)


@pytest.fixture(scope="module")
def subject() -> Subject:
    world = make_world(WorldConfig(users=40, items=60, interactions=800), seed=2)
    facts = Facts.build(world)
    rng = np.random.default_rng(1)
    user = rng.normal(size=(40, 6)).astype(np.float32)
    value = rng.normal(size=(facts.n_values, 6)).astype(np.float32)
    item = np.stack([value[facts.of_item.row(i)].mean(0) for i in range(60)]).astype(np.float32)
    scorer = Scorer(user, item, value, user, "mean")
    return Subject(
        "world", world, split(world, seed=0), scorer, setup=AgentSetup(epochs=0)
    )  # without an agent, to be quick


def plan(**more: object) -> Plan:
    asked: dict[str, object] = {
        "methods": ("rdexp-values", "cerec-paper", "cerec"),
        "truths": ("dns", "planted", "heldout", "planted-both"),
        "seeds": 2,
        "pairs": 60,
        "k": 5,
        "draws": 30,
        "dns": DNS,
    }
    return Plan(**{**asked, **more})  # type: ignore[arg-type]


def test_a_stopped_comparison_goes_on_with_equal_numbers(subject: Subject, tmp_path: Path) -> None:
    whole = Comparison(subject, plan(), tmp_path / "whole")
    whole.run()
    seen: list[tuple[str, bool]] = []

    class Stop(Exception):
        pass

    def stop(cell: Cell, known: bool) -> None:
        seen.append((cell.method, known))
        if len(seen) == 2:
            raise Stop

    with pytest.raises(Stop):
        Comparison(subject, plan(), tmp_path / "cut", on_cell=stop).run()
    told: list[bool] = []
    again = Comparison(
        subject, plan(), tmp_path / "cut", on_cell=lambda _, known: told.append(known)
    )
    again.run()
    assert told == [True, True, False, False, False]
    assert again.size == len(told)
    for a, b in zip(summarise(whole), summarise(again), strict=True):
        assert a.method == b.method
        for key, figure in a.figures.items():
            assert (figure == b.figures[key]) or np.isnan(figure.low)
            assert figure.mean == b.figures[key].mean or np.isnan(figure.mean)


def test_lines_say_what_the_cells_hold(subject: Subject, tmp_path: Path) -> None:
    comparison = Comparison(subject, plan(), tmp_path)
    comparison.run()
    lines = {line.method: line for line in summarise(comparison)}
    ours, random = lines["cerec"], lines["rdexp-values"]
    assert random.draws == 30
    assert random.seeds == 1
    assert ours.seeds == 2
    assert ours.figures["flipped"].mean == ours.figures["found"].mean  # each verified one flips
    assert ours.figures["stability"].mean == ours.figures["found"].mean  # without an agent
    assert random.figures["stability"].mean < 0.2
    assert ours.figures["size"].mean < lines["cerec-paper"].figures["size"].mean
    assert ours.figures["flipped"].p is None
    assert random.figures["flipped"].p is not None
    for line in lines.values():
        for key, figure in line.figures.items():
            if key not in ("size", "named", "similarity") and not np.isnan(figure.mean):
                assert 0 <= figure.mean <= 1
                assert np.isnan(figure.low) or figure.low <= figure.mean <= figure.high
    n = 60
    by_hand = []
    for outcome in comparison.outcomes("rdexp-values"):
        by_hand = outcome.verdicts.flipped.reshape(n, 30).mean(axis=1)
    assert random.figures["flipped"].mean == pytest.approx(np.mean(by_hand))
    assert random.figures["flipped"].se == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(n))


class Perfect:
    """Knows the planted dislikes."""

    def fit(self, context: Context) -> None:
        self._tastes = planted(context.data, context.facts)

    def explain(self, pairs: Pairs) -> list[Answer]:
        return [Answer(values=self._tastes.disliked.row(int(u))) for u in pairs.user]


class Unwilling:
    """Refuses every data set."""

    def fit(self, context: Context) -> None:
        raise ConfigError(f"too many items: {len(context.data.items)}")

    def explain(self, pairs: Pairs) -> list[Answer]:
        raise NotImplementedError


def test_a_perfect_method_scores_one_and_a_refusal_is_told(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"perfect": Entry("Perfect", Perfect, seeded=False), "no": Entry("No", Unwilling)}
    for name, entry in more.items():
        monkeypatch.setitem(METHODS, name, entry)  # type: ignore[arg-type]
    asked = plan(methods=("perfect", "no", "cerec"), truths=("planted",), seeds=1)
    comparison = Comparison(subject, asked, tmp_path)
    comparison.run()
    perfect, no, ours = summarise(comparison)
    for measure in ("precision", "recall", "f1"):
        assert perfect.figures[f"{measure}:planted"].mean == 1.0
        assert perfect.figures[f"{measure}:planted"].p < 0.05
    assert no.error == "too many items: 60"
    assert not no.figures
    assert ours.figures["precision:planted"].mean < 1
    made = write_report(tmp_path / "out", {"world": summary_of(comparison)})
    assert "too many items: 60" in (tmp_path / "out" / "table.md").read_text()
    assert {p.name for p in made} >= {"table.md", "table.csv", "consistency-planted.tex"}


def test_every_form_of_the_table(subject: Subject, tmp_path: Path) -> None:
    comparison = Comparison(subject, plan(seeds=1), tmp_path)
    comparison.run()
    found = summary_of(comparison)
    made = write_report(tmp_path / "out", {"world": found})
    for path in made:
        assert path.stat().st_size > 0
    text = (tmp_path / "out" / "table.md").read_text()
    assert "### Agreement with: planted" in text
    assert "### Checks: world" in text
    latex = (tmp_path / "out" / "consistency-dns.tex").read_text()
    assert r"\textbf" in latex
    assert latex.count(r"\\") == 2 + 3
    rows = (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert any(row.startswith("world,cerec,f1:planted,") for row in rows)
    lines, about = read_summary(tmp_path / "out" / "world.json")
    assert [line.method for line in lines] == [line.method for line in found[0]]
    assert lines[0].figures["found"] == found[0][0].figures["found"]
    assert about["truths"]["dns"]["drawn_again"]["precision"] >= 0
    json.dumps(about)


def test_a_plot_takes_any_number_of_methods(subject: Subject, tmp_path: Path) -> None:
    comparison = Comparison(subject, plan(methods=("effects",), truths=("planted",)), tmp_path)
    comparison.run()
    (line,) = summarise(comparison)
    many = [dataclasses.replace(line, method=f"m{n}", title=f"Method {n}") for n in range(40)]
    scatter_plot(many, ["planted"], tmp_path / "many.png", "many")
    assert (tmp_path / "many.png").stat().st_size > 1000


def test_truths_that_the_data_lacks_are_left_out(subject: Subject, tmp_path: Path) -> None:
    plain = dataclasses.replace(subject.data, planted=None)
    comparison = Comparison(dataclasses.replace(subject, data=plain), plan(), tmp_path)
    assert comparison.truth_names == ("dns", "heldout")


def test_a_plan_is_checked() -> None:
    with pytest.raises(ConfigError, match="unknown truth 'oracle'"):
        plan(truths=("oracle",))
    with pytest.raises(ConfigError, match="unknown explanation method 'cerek'; did you mean"):
        plan(methods=("cerek",))
    with pytest.raises(ConfigError, match="seeds must be at least 1, got 0"):
        plan(seeds=0)
    with pytest.raises(ConfigError, match="at least one method"):
        plan(methods=())


def test_mcnemar_by_hand() -> None:
    """Of 10 pairs on which they differ, one method succeeds on 9: p = 2 * 11 / 1024."""
    ours = np.array([True] * 9 + [False] + [True] * 5)
    theirs = np.array([False] * 9 + [True] + [True] * 5)
    assert mcnemar(ours, theirs) == pytest.approx(22 / 1024)
    assert mcnemar(ours, ours) == 1.0
    assert mcnemar(ours, theirs) == mcnemar(theirs, ours)


def test_the_interval_draws_users_not_pairs() -> None:
    """All pairs of a user alike: the interval must be that of the users' means."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=50)
    user = np.repeat(np.arange(50), 20)
    low, high = over_users(mean[user], user)
    half = stats.norm.ppf(0.975) * mean.std() / np.sqrt(50)
    assert high - low == pytest.approx(2 * half, rel=0.15)
    assert np.isnan(over_users(np.full(3, np.nan), np.arange(3))).all()


def test_cells_depend_on_the_recommender(subject: Subject, tmp_path: Path) -> None:
    one = runner_module.Comparison(subject, plan(), tmp_path)
    scorer = dataclasses.replace(subject.scorer, user=subject.scorer.user + np.float32(1))
    two = runner_module.Comparison(dataclasses.replace(subject, scorer=scorer), plan(), tmp_path)
    assert one._key("cerec", 0) != two._key("cerec", 0)
    assert one._key("cerec", 0) != one._key("cerec", 1)
