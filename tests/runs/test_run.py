"""A run: train, recommend, explain, save, open, resume."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import torch

import cerec
from cerec.asides import held
from cerec.checkpoint import Checkpoint, write_checkpoint
from cerec.data.dataset import Triples
from cerec.data.facts import Facts
from cerec.data.store import write_dataset
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.data.writer import write
from cerec.errors import ConfigError, DataError, QuestionError, RunError, UnknownIdError
from cerec.files import read_arrays, write_arrays
from cerec.recommend.asking import list_length
from cerec.recommend.negatives import DNS, Uniform, Walk
from cerec.runs.evaluate import evaluate_run
from cerec.runs.folder import FILES
from cerec.runs.unused import unused
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.settings.base import parse
from cerec.settings.recommender import RecommenderConfig
from cerec.settings.run import PRESETS, RunConfig
from cerec.settings.train import SignalConfig, TrainConfig
from run_folders import reseal
from worlds import QUICK, SMALL


def test_lists_hold_unknown_items_in_order(any_run: cerec.Run) -> None:
    run = any_run
    user = run.data.users[0]
    known = {run.data.items[i] for i in run.known.row(0)}
    listed = run.recommend(user, k=1000)  # more than there are: the whole catalogue
    assert [line.rank for line in listed] == list(range(1, len(run.data.items) - len(known) + 1))
    assert known.isdisjoint(line.item for line in listed)
    scores = [line.score for line in listed]
    assert scores == sorted(scores, reverse=True)
    assert all(run.rank(user, line.item) == line.rank for line in listed)


def test_lists_of_everybody_are_those_of_each(any_run: cerec.Run) -> None:
    for k in (7, 1000):
        each = [(user, any_run.recommend(user, k)) for user in any_run.data.users]
        assert list(any_run.recommend_all(k)) == each
    with pytest.raises(ConfigError, match="k must be a whole number of at least 1, got 0"):
        list(any_run.recommend_all(0))


def test_bad_questions_are_told(small_run: cerec.Run) -> None:
    with pytest.raises(UnknownIdError, match="unknown user 'u01x'; did you mean 'u01'"):
        small_run.recommend("u01x")
    with pytest.raises(ConfigError, match="k must be a whole number of at least 1, got 0"):
        small_run.recommend(small_run.data.users[0], k=0)
    for k in ("5", 2.5, None):
        with pytest.raises(ConfigError, match=f"k must be a whole number .* got {k!r}"):
            small_run.recommend(small_run.data.users[0], k=k)  # type: ignore[arg-type]
    for items in (None, "m01", 3):
        with pytest.raises(ConfigError, match=f"history takes a list of item ids, got {items!r}"):
            small_run.recommend_for(items)  # type: ignore[arg-type]


def test_every_listed_pair_is_answered_and_checked(any_run: cerec.Run) -> None:
    run = any_run
    pairs = list(run.listed_pairs(k=5))
    found = list(run.explain_many(pairs, k=5, by="attributes"))
    assert [(e.user, e.item) for e in found] == pairs
    verified = [e for e in found if e.found]
    assert len(verified) > 0.5 * len(found)
    for e in verified[:60]:
        _check_slowly(run, e)


def _check_slowly(run: cerec.Run, e: cerec.Explanation) -> None:
    """Rank by rank, from nothing but `rescore` and `recommend`."""
    attributes = set(run.attributes(e.item))
    for change in e.changes:
        if change.before is not None:
            attributes.remove((change.relation, change.before))
        if change.after is not None:
            attributes.add((change.relation, change.after))
    assert run.rescore(e.user, e.item, attributes) == e.score_after
    others = [r for r in run.recommend(e.user, k=10_000) if r.item != e.item]
    row = run.data.items.row
    ahead = sum((-r.score, row(r.item)) < (-e.score_after, row(e.item)) for r in others)
    assert ahead + 1 == e.rank_after > e.k
    assert others[e.k - 1].item == e.replacement
    assert others[e.k - 1].score == e.cutoff


def test_save_and_open_change_nothing(any_run: cerec.Run, tmp_path: Path) -> None:
    any_run.save(tmp_path / "run")
    again = cerec.open(tmp_path / "run")
    user = any_run.data.users[3]
    listed = any_run.recommend(user, k=5)
    assert again.recommend(user, k=5) == listed
    one, two = (r.explain(user, listed[0].item, k=5) for r in (any_run, again))
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)
    assert again.metrics == any_run.metrics
    assert again.config == any_run.config
    assert again.history == any_run.history
    assert not list(tmp_path.rglob("*.pkl"))


@pytest.mark.parametrize("name", ["small_run", "paper_run"])
def test_same_seed_same_numbers(name: str, request: pytest.FixtureRequest) -> None:
    first = request.getfixturevalue(name)
    again = cerec.train(first.data, first.config, seed=3)
    assert again.metrics == first.metrics
    assert again.model.arrays.keys() == first.model.arrays.keys()
    for array, values in first.model.arrays.items():
        assert np.array_equal(again.model.arrays[array], values)
    assert cerec.train(first.data, first.config, seed=4).metrics != first.metrics


def test_folders_that_are_no_runs(tmp_path: Path, small_run: cerec.Run) -> None:
    with pytest.raises(RunError, match="no such folder; make a run with: cerec train"):
        cerec.open(tmp_path / "none")
    with pytest.raises(RunError, match="is not a run folder"):
        cerec.open(tmp_path)
    folder = small_run.save(tmp_path / "run")
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**facts, "format": 0}))
    with pytest.raises(RunError, match="not format 2"):
        cerec.open(folder)


def test_a_finished_run_is_not_overwritten(tmp_path: Path) -> None:
    data = make_world(SMALL, seed=1)
    cerec.train(data, QUICK, out=tmp_path / "run")
    with pytest.raises(RunError, match="holds a run; choose another --out, --resume or --force"):
        cerec.train(data, QUICK, out=tmp_path / "run")
    with pytest.raises(RunError, match="another seed"):
        cerec.train(data, QUICK, out=tmp_path / "run", seed=9, resume=True)


def test_somebody_new_gets_a_list(small_run: cerec.Run, paper_run: cerec.Run) -> None:
    known = [small_run.data.items[i] for i in small_run.known.row(5)]
    listed = small_run.recommend_for(known, k=10)
    assert len(listed) == 10
    assert set(known).isdisjoint(line.item for line in listed)
    assert listed == small_run.recommend(small_run.data.users[5], k=10)
    with pytest.raises(QuestionError, match="cannot score somebody by a history alone"):
        paper_run.recommend_for(known)


def test_a_sampler_of_ones_own_takes_the_place_of_ordinary_negatives(tmp_path: Path) -> None:
    class Last:
        list_length = 0

        def __init__(self) -> None:
            self.asked = 0

        def draw(self, user, item, context, rng):
            self.asked += len(user)
            last = len(context.item) - 1
            known = [last in context.known.row(u) for u in user]
            return np.where(known, -1, last).astype(np.int32)

    data, mine = make_world(SMALL, seed=1), Last()
    plain = replace(QUICK, signals=replace(QUICK.signals, counterfactuals="none"))
    run = cerec.train(data, plain, out=tmp_path / "run", negatives=mine)
    assert mine.asked >= run.split.train.size
    rows = run.model.arrays["item"] @ run.model.arrays["user"].mean(axis=0)
    assert rows.argmin() == len(data.items) - 1  # pushed down in every pair
    with pytest.raises(RunError, match="started with another negatives"):
        cerec.train(data, plain, out=tmp_path / "run", resume=True)
    assert list_length(DNS(list_length=np.int64(5))) == 5  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is no sampler"):
        cerec.train(data, QUICK, negatives=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Last is a class; give a sampler made of it"):
        cerec.train(data, QUICK, negatives=Last)  # type: ignore[arg-type]

    class Short(Last):
        def draw(self, user, item):
            return item

    with pytest.raises(ConfigError, match=r"needs draw\(user, item, context, rng\)"):
        cerec.train(data, QUICK, negatives=Short())  # type: ignore[arg-type]


def test_arguments_of_the_wrong_kind_are_refused_in_one_line() -> None:
    data = make_world(SMALL, seed=1)
    with pytest.raises(DataError, match=r"cerec.load\(FOLDER\), got 'nosuch'"):
        cerec.train("nosuch")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be a RunConfig"):
        cerec.train(data, {"train": {}})  # type: ignore[arg-type]
    for seed in (-1, 1.5, True):
        with pytest.raises(ConfigError, match="seed must be a whole number"):
            cerec.train(data, QUICK, seed=seed)  # type: ignore[arg-type]
    for section, values in (
        (TrainConfig, {"epochs": "3"}),
        (AgentConfig, {"gamma": None}),
        (RecommenderConfig, {"dim": 2.5}),
        (EncoderConfig, {"size": "8"}),
    ):
        with pytest.raises(ConfigError, match=f"{next(iter(values))} must be a"):
            section(**values)


def test_a_seed_of_numpy_is_a_seed(tmp_path: Path) -> None:
    few = replace(QUICK, train=replace(QUICK.train, epochs=1, agent_epochs=0))
    cerec.train(make_world(SMALL, seed=1), few, seed=np.int64(3), out=tmp_path / "run")  # type: ignore[arg-type]
    assert cerec.open(tmp_path / "run").seed == 3


def test_an_agent_that_diverges_is_told(small_run: cerec.Run) -> None:
    wild = replace(QUICK, agent=replace(QUICK.agent, learning_rate=1e6))
    with pytest.raises(ConfigError, match=r"the agent diverged.* smaller agent.learning_rate"):
        cerec.train(small_run.data, wild)
    assert small_run.vectors is not None
    for value in (np.nan, 1e30):
        vectors = np.full_like(small_run.vectors, value)
        saved = cerec.Run(small_run.data, small_run.split, small_run.model, vectors=vectors)
        with pytest.raises(ConfigError, match="the agent diverged"):
            saved.explain("u01", saved.recommend("u01")[0].item, by="agent")


def test_without_attributes_no_walk_is_possible() -> None:
    data = make_world(SMALL, seed=1)
    bare = replace(data, triples=Triples(*(np.zeros(0, np.int32) for _ in range(3))))
    few = replace(QUICK.train, epochs=1, agent_epochs=1)
    run = cerec.train(bare, replace(QUICK, train=few))
    found = list(run.explain_many(run.listed_pairs(k=2), k=2))
    assert {e.status for e in found} == {"no_attributes"}


def test_settings_without_effect_are_told(caplog: pytest.LogCaptureFixture) -> None:
    data = make_world(SMALL, seed=1)
    few = replace(QUICK.train, epochs=1, warmup=1, agent_epochs=0)
    cerec.train(data, replace(QUICK, train=few))
    assert 'signals.counterfactuals = "literal" has no effect' in caplog.text
    caplog.clear()
    cerec.train(data, RunConfig(train=few))
    assert "note: linear is trained; [train] will do nothing" in caplog.text
    caplog.clear()
    cerec.train(data)
    assert not caplog.text


def test_what_has_no_effect() -> None:
    data = make_world(SMALL, seed=1)
    facts = Facts.build(data)
    paper = parse(RunConfig, PRESETS["paper"])
    for config in (RunConfig(), QUICK, paper):
        assert not unused(config, data, facts)
    assert not unused(RunConfig(), data, facts, validated=False)  # which has no epochs
    assert not unused(QUICK, data, facts, validated=False)  # epochs are set
    (told,) = unused(paper, data, facts, validated=False)
    assert "all of train.epochs = 400 are learned; set it" in told
    agent = {"model": {"name": "linear", "agent": True}, "agent": {"draws": 3}}
    assert not unused(parse(RunConfig, {**agent, "train": {"agent_epochs": 2}}), data, facts)
    (told,) = unused(parse(RunConfig, {**agent, "train": {"epochs": 2}}), data, facts)
    assert told == "note: linear is trained; [train] will do nothing"
    neumf = RunConfig(model={"name": "neumf"})
    assert not unused(neumf, data, facts)
    (told,) = unused(replace(neumf, signals=SignalConfig(negatives="dns")), data, facts)
    assert told == "note: neumf is trained; [signals] will do nothing"
    bare = replace(data, triples=Triples(*(np.zeros(0, np.int32) for _ in range(3))))
    (told,) = unused(paper, bare, Facts.build(bare))
    assert "no item of this data has attributes" in told
    assert "uniform negatives" in told


def test_a_training_within_its_warm_up_is_told() -> None:
    data = make_world(SMALL, seed=1)
    table = {"model": {"name": "cotrained"}, "train": {"epochs": 5, "warmup": 5}}
    (told,) = unused(parse(RunConfig, table), data, Facts.build(data))
    assert told.startswith("note: training ends with its warm-up")


def test_recall_of_all_items_stops_nothing(tmp_path: Path) -> None:
    data = make_world(SMALL, seed=1)
    full = replace(QUICK, train=replace(QUICK.train, metric=f"recall@{len(data.items)}"))
    with pytest.raises(ConfigError, match="so that recall is 1 whatever is learned"):
        cerec.train(data, full, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_shares_of_data_that_comes_in_parts_are_told() -> None:
    data = make_world(SMALL, seed=1)
    facts = Facts.build(data)
    part = np.zeros(len(data.interactions), np.int8)
    given = replace(data, interactions=replace(data.interactions, part=part))
    whole = {"train": 1.0, "valid": 0.0, "test": 0.0}
    assert not unused(parse(RunConfig, {"split": whole}), data, facts)
    (told,) = unused(parse(RunConfig, {"split": whole}), given, facts)
    assert 'split.method = "ratio"' in told
    assert not unused(parse(RunConfig, {"split": {**whole, "method": "ratio"}}), given, facts)


def test_two_trainings_do_not_share_a_folder(tmp_path: Path) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"

    def second(row: object) -> None:
        del row
        for settings in ({"seed": 2}, {"force": True}, {"resume": True}):
            with pytest.raises(RunError, match="another training is at work in it"):
                cerec.train(data, QUICK, out=folder, **settings)  # type: ignore[arg-type]

    first = cerec.train(data, QUICK, out=folder, on_row=second)
    assert cerec.open(folder).metrics == first.metrics
    cerec.train(data, QUICK, out=folder, force=True)  # now it may


def test_a_checkpoint_of_another_training_is_not_gone_on_from(tmp_path: Path) -> None:
    data = make_world(SMALL, seed=1)
    often = replace(QUICK, train=replace(QUICK.train, checkpoint_seconds=0.0))

    def killed(row: dict[str, Any]) -> None:
        if row["epoch"] == 3:
            raise SystemError("killed")

    for seed in (1, 2):
        with pytest.raises(SystemError, match="killed"):
            cerec.train(data, often, seed=seed, out=tmp_path / str(seed), on_row=killed)
    shutil.rmtree(tmp_path / "2" / "checkpoint")
    (tmp_path / "1" / "checkpoint").rename(tmp_path / "2" / "checkpoint")
    with pytest.raises(RunError, match="is of a training with other data, settings or seed"):
        cerec.train(data, often, seed=2, out=tmp_path / "2", resume=True)


def test_nothing_is_gone_on_with_by_another_sampler_of_the_same_class(tmp_path: Path) -> None:
    data = make_world(SMALL, seed=1)
    cerec.train(data, QUICK, out=tmp_path / "run", negatives=DNS(2))
    for other in (DNS(3), Walk(), Uniform()):
        with pytest.raises(RunError, match="started with another negatives"):
            cerec.train(data, QUICK, out=tmp_path / "run", negatives=other, resume=True)
    cerec.train(data, QUICK, out=tmp_path / "run", negatives=DNS(2), resume=True)


def test_going_on_and_beginning_anew_are_two_things(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give one of the two"):
        cerec.train(make_world(SMALL, seed=1), QUICK, out=tmp_path, resume=True, force=True)


def test_nothing_is_resumed_without_a_folder() -> None:
    with pytest.raises(ConfigError, match="name its folder, out="):
        cerec.train(make_world(SMALL, seed=1), QUICK, resume=True)


def test_test_is_looked_at_only_when_the_training_has_ended(tmp_path: Path) -> None:
    data = make_world(SMALL, seed=1)

    def stop(row: dict[str, Any]) -> None:
        if row["epoch"] == 4:
            raise KeyboardInterrupt

    stopped = cerec.train(data, QUICK, out=tmp_path / "run", on_row=stop)
    assert set(stopped.metrics) == {"valid"}
    ended = cerec.train(data, QUICK, out=tmp_path / "run", resume=True)
    assert set(ended.metrics) == {"valid", "test"}


def test_users_without_train_items_get_what_most_like() -> None:
    data = make_world(WorldConfig(users=150, items=100, interactions=3000), seed=3)
    table = data.interactions
    new = 7
    keep = table.user != new
    data = replace(
        data,
        interactions=replace(table, user=table.user[keep], item=table.item[keep]),
    )
    paper = replace(QUICK, train=replace(QUICK.train, epochs=30))
    run = cerec.train(data, paper)
    count = np.bincount(run.known.indices, minlength=100)
    scores = run.subject.scores(np.array([new]))[0]
    rank = np.argsort(np.argsort(count)), np.argsort(np.argsort(scores))
    assert np.corrcoef(*rank)[0, 1] > 0.7


def test_training_uses_as_many_threads_as_asked_and_gives_them_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CEREC_THREADS", "1")
    before, seen = (numba.get_num_threads(), torch.get_num_threads()), set()
    torch.set_num_threads(2)

    def watch(row: object) -> None:
        del row
        seen.add((numba.get_num_threads(), torch.get_num_threads()))

    try:
        cerec.train(make_world(SMALL, seed=1), QUICK, on_row=watch)
        assert seen == {(1, 1)}
        assert (numba.get_num_threads(), torch.get_num_threads()) == (before[0], 2)
    finally:
        torch.set_num_threads(before[1])


def test_resuming_a_finished_training_opens_it(tmp_path: Path) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"
    first = cerec.train(data, QUICK, out=folder)
    rows: list[object] = []
    again = cerec.train(data, QUICK, out=folder, resume=True, on_row=rows.append)
    assert not rows
    assert again.metrics == first.metrics


def test_nothing_of_an_old_run_is_lost_when_the_new_one_cannot_start(tmp_path: Path) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"
    cerec.train(data, QUICK, out=folder)
    hopeless = replace(QUICK, filters=replace(QUICK.filters, k_core=999))
    with pytest.raises(DataError, match="no interactions are left to learn from; filter less"):
        cerec.train(data, hopeless, out=folder, force=True)
    assert cerec.open(folder).recommend("u01")


def test_resume_takes_only_a_run_that_says_how_it_was_begun_for_finished(tmp_path: Path) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"
    cerec.train(data, QUICK, out=folder)
    facts = json.loads((folder / "run.json").read_text())
    del facts["meta"]["origin"]
    reseal(folder, facts)
    with pytest.raises(RunError, match="not trained there, so nothing can be resumed"):
        cerec.train(data, QUICK, out=folder, resume=True)
    for wrong in ({}, 3, {"config": "[", "seed": 0}):
        facts["meta"]["origin"] = wrong
        reseal(folder, facts)
        with pytest.raises(RunError, match=r"run\.json: damaged"):
            cerec.train(data, QUICK, out=folder, resume=True)


def test_save_never_deletes_what_is_not_a_run(small_run: cerec.Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="holds other files"):
        small_run.save(tmp_path)
    with pytest.raises(RunError, match="is a file"):
        small_run.save(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_save_keeps_off_the_training_of_another(small_run: cerec.Run, tmp_path: Path) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"
    cerec.train(data, QUICK, out=folder)
    with held(folder), pytest.raises(RunError, match="another training is at work in it"):
        small_run.save(folder)
    write_checkpoint(folder / "checkpoint", Checkpoint({}, {}))
    small = replace(QUICK, recommender=replace(QUICK.recommender, dim=3))
    other = cerec.train(data, small)
    with pytest.raises(RunError, match="holds an unfinished training; save to another folder"):
        other.save(folder)
    assert (folder / "checkpoint").is_dir()


def test_what_was_never_trained_cannot_be_resumed(small_run: cerec.Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "mine")
    with pytest.raises(RunError, match="not trained there, so nothing can be resumed"):
        cerec.train(make_world(SMALL, seed=1), QUICK, out=folder, resume=True)


def test_save_over_a_run_keeps_what_else_lies_there(tmp_path: Path) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"
    run = cerec.train(data, QUICK, out=folder)
    assert {p.name for p in folder.iterdir()} == {*FILES, "origin.json"}
    (folder / "notes.txt").write_text("mine")
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "counters.json").write_text("{}")
    (folder / "history.csv").write_text("damaged")
    run.save(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "checkpoint" / "counters.json").exists()
    assert cerec.open(folder).history == run.history
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_run_saved_over_another_is_not_taken_for_its_training(
    small_run: cerec.Run, tmp_path: Path
) -> None:
    data, folder = make_world(SMALL, seed=1), tmp_path / "run"
    cerec.train(data, QUICK, out=folder)
    (folder / "notes.txt").write_text("mine")
    small_run.save(folder)
    assert {p.name for p in folder.iterdir()} == {*FILES, "notes.txt"}
    with pytest.raises(RunError, match="holds a run"):
        cerec.train(data, QUICK, out=folder, resume=True)


def test_a_run_is_not_saved_over_the_folder_one_stands_in(
    small_run: cerec.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_run.save(tmp_path / "run")
    monkeypatch.chdir(folder)
    for here in (".", folder, tmp_path / "run" / ".." / "run"):
        with pytest.raises(RunError, match="is the folder you stand in"):
            small_run.save(here)


def test_training_never_writes_among_other_files(tmp_path: Path) -> None:
    """Not even by force: a folder of data holds files of the names that a run has."""
    data = make_world(SMALL, seed=1)
    tables, parquet = (write(data, tmp_path / name, name) for name in ("tables", "parquet"))
    foreign = tmp_path / "foreign"
    (foreign / "checkpoint").mkdir(parents=True)
    (foreign / "checkpoint" / "weights.pt").touch()
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    for folder, words in (
        (tables, "holds data"),
        (parquet, r"holds items\.parquet, which is not of a run"),
        (foreign, "holds checkpoint, which is not of a run"),
    ):
        for force in (False, True):
            with pytest.raises(RunError, match=f"{words}.*choose another folder"):
                cerec.train(data, QUICK, out=folder, force=force)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "train.log").touch()  # as a shell makes it
    assert cerec.train(data, QUICK, out=tmp_path / "new").meta["finished"]


def test_a_recommender_that_diverges_is_told_with_the_setting_to_lower() -> None:
    wild = replace(QUICK, recommender=replace(QUICK.recommender, learning_rate=1e30))
    with (
        np.errstate(all="ignore"),
        pytest.raises(ConfigError, match=r"diverged.*lower recommender.learning_rate \(1e\+30\)"),
    ):
        cerec.train(make_world(SMALL, seed=1), wild)


def test_a_loss_above_that_of_knowing_nothing_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = make_world(SMALL, seed=1)
    for rate, times in ((0.05, 0), (1e6, 1)):
        caplog.clear()
        cerec.train(data, replace(QUICK, recommender=RecommenderConfig(learning_rate=rate)))
        assert caplog.text.count("lower recommender.learning_rate (1000000.0)") == times
        assert caplog.text.count("where knowing nothing has at most") == times


def test_wrong_arguments_from_python_are_one_line(small_run: cerec.Run) -> None:
    assert small_run.new_item(np.array(small_run.attributes("m01")[:1])).attributes
    strange: list[Any] = ["genre=Drama", {"genre": "Drama"}, [("genre", "Drama", "x")], None, [3]]
    for attributes in strange:
        with pytest.raises(QuestionError, match=r"attributes are \(relation, attribute\) pairs"):
            small_run.new_item(attributes)
    with pytest.raises(ConfigError, match="at least one item id"):
        small_run.recommend_for([])
    data = small_run.data
    for argument in ({"out": 3}, {"on_row": 3}):
        with pytest.raises(ConfigError, match=next(iter(argument))):
            cerec.train(data, QUICK, **argument)  # type: ignore[arg-type]


def test_damaged_runs_are_told_in_one_line(small_run: cerec.Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "run")
    sound = json.loads((folder / "run.json").read_text())
    strange = {"kind": "zz", "fidelity": None}
    for damage in (
        {"recommender": {}},
        {"recommender": strange},
        {"recommender": {**sound["recommender"], "pooling": 1}},
        {"meta": 3},
        {"seed": "x"},
    ):
        reseal(folder, {**sound, **damage})
        with pytest.raises(RunError, match=r"run\.json: damaged"):
            cerec.open(folder)
    reseal(folder, sound)
    arrays = read_arrays(folder / "model.safetensors")
    write_arrays(folder / "model.safetensors", {**arrays, "model.own": arrays["model.own"][:5]})
    reseal(folder)
    with pytest.raises(RunError, match=r"'own' .* does not fit a run of 60 users and 80 items"):
        cerec.open(folder)
    for gone in ("model.own", "known.indptr"):
        rest = {name: array for name, array in arrays.items() if name != gone}
        write_arrays(folder / "model.safetensors", rest)
        reseal(folder)
        with pytest.raises(RunError, match=f"holds no '{gone.removeprefix('model.')}'"):
            cerec.open(folder)
    (folder / "config.toml").unlink()
    with pytest.raises(RunError, match=r"config\.toml: no such file"):
        cerec.open(folder)


def test_a_run_fitted_on_all_interactions_is_not_measured_on_them(small_run: cerec.Run) -> None:
    with pytest.raises(RunError, match="cannot be measured on them"):
        evaluate_run(small_run, "test", [20])


def test_lists_longer_than_the_catalogue_are_measured(paper_run: cerec.Run) -> None:
    values = evaluate_run(paper_run, "test", [20, 500])
    assert set(values) >= {"recall@20", "recall@500", "map@500"}
    assert np.nanmax(values["recall@500"]) == 1.0


@pytest.mark.parametrize(
    ("part", "ks", "words"),
    [
        ("validation", [20], "did you mean 'valid'"),
        ("train", [20], "part must be one of valid, test"),
        ("test", [], "ks must be a list"),
        ("test", 20, "ks must be a list"),
        ("test", [0], "at least 1"),
        ("test", ["20"], "whole numbers"),
    ],
)
def test_evaluate_refuses(small_run: cerec.Run, part: str, ks: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        evaluate_run(small_run, part, ks)


def test_wrong_kinds_are_refused() -> None:
    with pytest.raises(DataError, match="load takes the name of a data set"):
        cerec.load(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="at least 1 candidate, got '4'"):
        DNS("4")  # type: ignore[arg-type]


def test_a_run_folder_with_the_data_of_another_world_is_refused(
    small_run: cerec.Run, tmp_path: Path
) -> None:
    folder = small_run.save(tmp_path / "run")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    write_dataset(make_world(SMALL, seed=2), stranger)  # as many users and items
    for name in ("graph.safetensors", "entities.parquet", "items.parquet"):
        shutil.copy(stranger / name, folder / name)
    with pytest.raises(
        RunError, match=r"\w+\.\w+: (has .* bytes instead|is not the file).* restore a copy"
    ) as told:
        cerec.open(folder)
    assert "\n" not in str(told.value)
