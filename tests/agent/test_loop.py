"""The loop on a model whose every number can be written down."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cerec.agent.loop import Trainer
from cerec.checkpoint import read_history
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.negatives import Uniform
from cerec.recommend.scorer import Scorer
from cerec.settings.train import SignalConfig, TrainConfig
from cerec.shutdown import stoppable

TRAIN = Ragged(np.array([0, 2, 3]), np.array([0, 1, 2], np.int32))

NONE = Ragged(np.zeros(4, np.int64), np.zeros(0, np.int32))
FACTS = Facts(np.zeros(0, np.int32), np.zeros(0, np.int32), NONE, NONE)


class Counter:
    """`weight` is the sum of one random number per epoch; its score peaks at `peak` epochs."""

    def __init__(self, peak: int = 100, stop_at: int = -1) -> None:
        self.weight, self.epochs, self.peak, self.stop_at = 0.0, 0, peak, stop_at
        self.drawn: list[Any] = []

    def epoch(self, user: Any, item: Any, negatives: Any, *, rng: Any) -> float:
        assert user.tolist() == [0, 0, 1]
        assert item.tolist() == [0, 1, 2]
        if self.epochs == self.stop_at:
            self.stop_at = -1
            raise KeyboardInterrupt
        self.weight += rng.random()
        self.epochs += 1
        self.drawn.append(negatives)
        return -self.weight

    def factors(self) -> Any:
        return np.zeros((2, 1), np.float32), np.zeros((3, 1), np.float32)

    def scorer(self) -> Scorer:
        user = np.full((2, 1), -abs(self.epochs - self.peak), np.float32)
        item = np.zeros((3, 1), np.float32)
        return Scorer(user, item, item[:0], user, "sum")

    def state(self) -> dict[str, Any]:
        return {"w": np.array([self.weight]), "n": np.array([self.epochs])}

    def load_state(self, state: dict[str, Any]) -> None:
        self.weight, self.epochs = float(state["w"][0]), int(state["n"][0])


class Learner:
    """A policy that counts its epochs."""

    def __init__(self) -> None:
        self.learned = 0

    @property
    def negatives(self) -> Any:
        return self

    list_length = 5

    def learn(self, user: Any, item: Any, context: Any, *, rng: Any) -> dict[str, float]:
        self.learned += 1
        return {"reward": float(rng.random())}

    def state(self) -> dict[str, Any]:
        return {"n": np.array([self.learned])}

    def load_state(self, state: dict[str, Any]) -> None:
        self.learned = int(state["n"][0])


def trainer(
    model: Counter, policy: Learner | None, folder: Path | None = None, **config: Any
) -> Trainer:
    settings = {
        "epochs": 12,
        "warmup": 2,
        "validate_every": 2,
        "patience": 2,
        "agent_epochs": 3,
        "agent_every": 1,
    }
    return Trainer(
        model,
        policy,
        TRAIN,
        FACTS,
        config=TrainConfig(**{**settings, "checkpoint_seconds": 0.0, **config}),
        signals=SignalConfig(chooser="agent"),
        seed=7,
        validate=lambda model: {"ndcg@20": float(model.scorer().user[0, 0])},
        folder=folder,
    )


def test_early_stopping_restores_the_best_epoch() -> None:
    model = Counter(peak=4)
    job = trainer(model, None)
    assert job.run()
    assert len(job.progress.history) == 8  # looks at 2, 4 (best), 6, 8: two without a better one
    assert model.epochs == 4
    assert job.progress.stopper.best_epoch == 4


@pytest.mark.parametrize("kind", ["literal", "none"])
def test_the_end_is_told_as_it_would_be_if_nothing_better_came(kind: Any) -> None:
    job, seen = trainer(Counter(peak=4), Learner(), epochs=50), []
    job.signals = SignalConfig(chooser="agent", counterfactuals=kind)
    job.watch(lambda row: seen.append(row["until"]))
    job.run()
    # looks at 2 (of the warm-up where there is one), 4 (best), 6 and 8; two without a better one
    first = 8 if kind == "literal" else 6
    assert seen == [first, first, first, 8, 8, 8, 8, 8, 3, 3, 3]
    assert all("until" not in row for row in job.progress.history)


def test_the_end_is_the_last_epoch_where_nothing_is_validated(tmp_path: Path) -> None:
    job, seen = trainer(Counter(), None, tmp_path, epochs=9), []
    job._validate = lambda model: {"ndcg@20": float("nan")}
    job.watch(lambda row: seen.append(row["until"]))
    job.run()
    assert seen[3:] == [9] * 6


def test_the_end_is_the_same_after_a_stop(tmp_path: Path) -> None:
    model = Counter(peak=4)
    job = trainer(model, None, tmp_path, patience=3)
    job.watch(lambda row: signal.raise_signal(signal.SIGINT) if row["epoch"] == 7 else None)
    assert not job.run()
    again, seen = trainer(Counter(peak=4), None, tmp_path, patience=3), []
    assert again.resume()
    again.watch(lambda row: seen.append((row["epoch"], row["until"])))
    assert again.run()
    assert seen == [(8, 10), (9, 10), (10, 10)]


def test_counterfactuals_come_after_the_warm_up_and_the_agent_goes_on() -> None:
    model, policy = Counter(), Learner()
    trainer(model, policy, epochs=5).run()
    assert model.drawn == [Uniform(), Uniform(), policy, policy, policy]
    assert policy.learned == 3 + 3


def test_every_epoch_draws_numbers_of_its_own() -> None:
    model, policy = Counter(), Learner()
    job = trainer(model, policy, epochs=6, agent_epochs=4, patience=9)
    job.run()
    losses = [row["loss"] for row in job.progress.history if row["phase"] == "recommender"]
    assert len(set(np.diff([0.0, *losses]).round(12))) == 6  # each the sum so far of its draws
    rewards = [row["reward"] for row in job.progress.history if "reward" in row]
    assert len(rewards) == len(set(rewards)) == 4 + 4


@pytest.mark.parametrize(("warmup", "best"), [(4, 6), (12, 4)])
def test_a_state_of_the_warm_up_is_not_the_best(warmup: int, best: int) -> None:
    model = Counter(peak=4)
    job = trainer(model, None, warmup=warmup)  # 12: nothing but warm-up was asked for
    assert job.run()
    assert job.progress.stopper.best_epoch == best == model.epochs


def test_a_resumed_training_ends_with_the_same_numbers(tmp_path: Path) -> None:
    whole = trainer(Counter(), Learner())
    whole.run()
    for stop in (1, 5, 9):
        folder = tmp_path / str(stop)
        broken = trainer(Counter(stop_at=stop), Learner(), folder)
        assert not broken.run()
        model, policy = Counter(), Learner()
        again = trainer(model, policy, folder)
        assert again.resume()
        assert again.run()
        assert model.weight == whole.model.weight  # type: ignore[attr-defined]
        assert policy.learned == whole.policy.learned  # type: ignore[union-attr]
        timeless = [{k: v for k, v in r.items() if k != "seconds"} for r in again.progress.history]
        assert timeless == [
            {k: v for k, v in r.items() if k != "seconds"} for r in whole.progress.history
        ]


def test_an_interrupt_leaves_the_best_so_far() -> None:
    model = Counter(peak=4, stop_at=7)
    job = trainer(model, None, patience=9)
    assert not job.run()
    assert model.epochs == 4


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C is heard, as in a terminal; a job in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_epoch_and_leaves_a_checkpoint(
    tmp_path: Path, number: signal.Signals
) -> None:
    class Asked(Counter):
        def epoch(self, *args: Any, **kwargs: Any) -> float:
            if self.epochs == 5:
                signal.raise_signal(number)
            return super().epoch(*args, **kwargs)

    before = signal.getsignal(number)
    model = Asked(peak=4)
    job = trainer(model, None, tmp_path, patience=9)
    assert not job.run()
    assert job.progress.epoch == 6  # the epoch at hand was finished
    assert model.epochs == 4  # and the best state is in place
    assert signal.getsignal(number) is before
    assert read_history(tmp_path / "history.csv") == job.progress.history  # to look at meanwhile
    again = trainer(Counter(peak=4), None, tmp_path, patience=9)
    whole = trainer(Counter(peak=4), None, patience=9)
    assert again.resume()
    assert again.progress.epoch == 6
    assert again.run()
    assert whole.run()
    assert again.model.weight == whole.model.weight  # type: ignore[attr-defined]


@pytest.mark.usefixtures("heard")
def test_a_second_signal_stops_at_once() -> None:
    with stoppable() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("deep", [1, 2])
def test_a_signal_within_kernels_stops_at_once_too(deep: int) -> None:
    """Out of a kernel an interrupt comes as a SystemError, out of one called by it as two."""

    class Kernels(Counter):
        def epoch(self, *args: Any, **kwargs: Any) -> float:
            if self.epochs == 7:
                signal.raise_signal(signal.SIGINT)
                through(deep)
            return super().epoch(*args, **kwargs)

    def through(kernels: int) -> None:
        if not kernels:
            signal.raise_signal(signal.SIGINT)
        try:
            through(kernels - 1)
        except BaseException as error:
            raise SystemError("a result with an exception set") from error

    model = Kernels(peak=4)
    assert not trainer(model, None, patience=9).run()
    assert model.epochs == 4  # the best so far


def test_an_error_of_the_system_is_no_interrupt() -> None:
    with pytest.raises(SystemError, match="broken"), stoppable():
        raise SystemError("broken")


def test_settings_are_checked() -> None:
    for bad in ({"epochs": 0}, {"warmup": -1}, {"metric": "auc"}, {"metric": "ndcg@x"}):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            TrainConfig(**bad)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="dns_candidates"):
        SignalConfig(dns_candidates=0)


@pytest.mark.parametrize("metric", ["ndcg@020", "ndcg@\u00b2", "ndcg@0", "ndcg", "hr@5"])
def test_a_metric_that_cannot_be_looked_at_is_refused(metric: str) -> None:
    with pytest.raises(ConfigError, match=r"train.metric must be recall@K or ndcg@K"):
        TrainConfig(metric=metric)
