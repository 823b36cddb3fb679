"""Co-training, the paper's iteration: the recommender and the agent learn in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cerec.agent.signals import Policy, plain, signals
from cerec.agent.stopping import Stopper
from cerec.checkpoint import Arrays, Checkpoint, Row, damaged, read_checkpoint, write_checkpoint
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError
from cerec.recommend.base import EpochRecommender, NegativeSampler
from cerec.recommend.context import context_of
from cerec.rng import generator
from cerec.settings.train import SignalConfig, TrainConfig
from cerec.shutdown import Stop, stoppable
from cerec.threads import give_back


@dataclass(slots=True)
class Progress:
    """Where training stands; everything a checkpoint must hold beside the weights."""

    phase: str = "recommender"
    epoch: int = 0
    stopper: Stopper = field(default_factory=lambda: Stopper(1))
    history: list[Row] = field(default_factory=list)

    def counters(self) -> dict[str, Any]:
        """As JSON values."""
        stop = self.stopper
        return {
            "phase": self.phase,
            "epoch": self.epoch,
            "stopper": [stop.patience, stop.best, stop.best_epoch, stop.waited],
            "history": self.history,
        }

    @staticmethod
    def from_counters(values: dict[str, Any]) -> Progress:
        """Back from `counters`."""
        phase, history = values["phase"], list(values["history"])
        if phase not in ("recommender", "agent"):
            raise ValueError(f"no phase is called {phase!r}")
        return Progress(phase, int(values["epoch"]), Stopper(*values["stopper"]), history)


class Trainer:
    """Drives one training; `run` returns when it is done, stopped early or interrupted.

    `validate` maps the recommender to figures on the validation part; nothing here sees test.
    Every epoch draws from a generator named after its number, so a resumed training ends with the
    same numbers as one that was never stopped.
    """

    def __init__(
        self,
        model: EpochRecommender,
        policy: Policy | None,
        train: Ragged,
        facts: Facts,
        *,
        config: TrainConfig,
        signals: SignalConfig,
        seed: int,
        validate: Callable[[EpochRecommender], dict[str, float]],
        watchers: Sequence[Callable[[Row], None]] = (),
        folder: Path | None = None,
        negatives: NegativeSampler | None = None,
        stamp: str = "",
        seconds: float | None = None,
    ) -> None:
        """`negatives` take the place of the ordinary ones that `signals` names. A checkpoint of
        another `stamp` is refused. After `seconds` of CPU time the next look at validation ends
        the training of the recommender.
        """
        self.model, self.policy = model, policy
        self.train, self.facts = train, facts
        self.user, self.item = train.row_of(), train.indices
        self.config, self.signals, self.seed = config, signals, seed
        self._validate, self._watchers = validate, list(watchers)
        self._folder, self._stamp = folder, stamp
        self._deadline = math.inf if seconds is None else time.process_time() + seconds
        self.timed_out = False
        self._ordinary = negatives if negatives is not None else plain(signals)
        self._saved_at = time.monotonic()
        self.progress = Progress(stopper=Stopper(config.patience))
        self._best: Arrays | None = None
        self._stop = Stop()

    def watch(self, watcher: Callable[[Row], None]) -> None:
        """Show every row from now on to one more."""
        self._watchers.append(watcher)

    def resume(self) -> bool:
        """Go on from the checkpoint, if there is one."""
        found = read_checkpoint(self._folder) if self._folder else None
        if found is None or self._folder is None:
            return False
        if found.counters.get("stamp", self._stamp) != self._stamp:
            raise RunError(
                f"{self._folder}: is of a training with other data, settings or seed; "
                "train with --force, without --resume, to start over"
            )
        try:
            self.progress, model = Progress.from_counters(found.counters), found.arrays["model"]
        except (KeyError, TypeError, ValueError):
            raise damaged(self._folder / "counters.json") from None
        self.model.load_state(model)
        self._best = found.arrays.get("best")
        if self.policy is not None and "agent" in found.arrays:
            self.policy.load_state(found.arrays["agent"])
        return True

    def run(self) -> bool:
        """Train to the end; False when stopped by Ctrl-C or SIGTERM, with the best so far.

        A stop waits for the end of the epoch and leaves a checkpoint of it.
        """
        try:
            with stoppable() as self._stop:
                return self._run()
        except KeyboardInterrupt:
            self._restore_best()  # the checkpoint stays at the last whole epoch that it saw
            return False

    def _run(self) -> bool:
        if self.progress.phase == "recommender":
            self._recommender_phase()
            if self._stop.asked:
                self._save()
                self._restore_best()
                return False
            self._restore_best()
            self.progress.phase, self.progress.epoch = "agent", 0
            self._save()
        self._agent_phase()
        self._save()
        return self.policy is None or self.progress.epoch >= self.config.agent_epochs

    def _restore_best(self) -> None:
        if self.progress.phase == "recommender" and self._best is not None:
            self.model.load_state(self._best)

    def _recommender_phase(self) -> None:
        progress = self.progress
        while progress.epoch < self.config.epochs and not progress.stopper.done:
            if self._stop.asked:
                return
            started = time.perf_counter()
            row: Row = {"phase": "recommender", "epoch": progress.epoch + 1}
            row |= self._epoch(progress.epoch)
            progress.epoch += 1
            last = progress.epoch == self.config.epochs
            if last or progress.epoch % self.config.validate_every == 0:
                row |= self._look()
                self.timed_out = time.process_time() > self._deadline
            self._finish(row, started)
            if self.timed_out:
                return

    def _epoch(self, epoch: int) -> Row:
        rng = generator(self.seed, f"training/epoch/{epoch}")
        warming = epoch < self.config.warmup
        row: Row = {}
        due = (epoch - self.config.warmup) % self.config.agent_every == 0
        if self.signals.learned and not warming and due:
            row |= self._policy_epoch(rng)
        negatives = self._ordinary
        if not warming:
            negatives = signals(self.signals, self.policy, self._ordinary)
        loss = self.model.epoch(self.user, self.item, negatives, rng=rng)
        return {"loss": loss, **row}

    def _policy_epoch(self, rng: np.random.Generator) -> Row:
        if self.policy is None:
            return {}
        length = self.policy.negatives.list_length
        context = context_of(self.model, self.train, self.facts, length)
        row: Row = dict(self.policy.learn(self.user, self.item, context, rng=rng))
        give_back()
        return row

    def _warms(self, epoch: int) -> bool:
        """True while nothing but the warm-up is in the model: not what was asked to be learned."""
        asked = self.signals.counterfactuals != "none" and self.config.epochs > self.config.warmup
        return asked and epoch <= self.config.warmup

    def _look(self) -> Row:
        figures = self._validate(self.model)
        if self._warms(self.progress.epoch):
            return dict(figures)
        if self.progress.stopper.look(self.progress.epoch, figures[self.config.metric]):
            self._best = None  # not two of them at once
            self._best = dict(self.model.state())
        return dict(figures)

    def _agent_phase(self) -> None:
        progress = self.progress
        while self.policy is not None and progress.epoch < self.config.agent_epochs:
            if self._stop.asked:
                return
            started = time.perf_counter()
            rng = generator(self.seed, f"training/agent/{progress.epoch}")
            row: Row = {"phase": "agent", "epoch": progress.epoch + 1, **self._policy_epoch(rng)}
            progress.epoch += 1
            self._finish(row, started)

    @property
    def until(self) -> int:
        """The epoch with which this phase ends if validation finds nothing better from now on."""
        config, stop, epoch = self.config, self.progress.stopper, self.progress.epoch
        if self.progress.phase == "agent":
            return config.agent_epochs
        every = config.validate_every
        if stop.best_epoch < 0:  # the first look that counts is better than none
            last = epoch // every + 1
            while self._warms(last * every):
                last += 1
        elif stop.best == -math.inf:  # looks that see nothing never end it
            return config.epochs
        else:
            last = epoch // every
        return min((last + stop.patience - stop.waited) * every, config.epochs)

    def _finish(self, row: Row, started: float) -> None:
        row["seconds"] = round(time.perf_counter() - started, 3)
        self.progress.history.append(row)
        for watch in self._watchers:
            watch({**row, "until": self.until})
        if time.monotonic() - self._saved_at >= self.config.checkpoint_seconds:
            self._save()

    def _save(self) -> None:
        if self._folder is None:
            return
        arrays: dict[str, Arrays] = {"model": dict(self.model.state())}
        if self._best is not None:
            arrays["best"] = self._best
        if self.policy is not None:
            arrays["agent"] = self.policy.state()
        counters = {**self.progress.counters(), "stamp": self._stamp}
        write_checkpoint(self._folder, Checkpoint(counters, arrays))
        self._saved_at = time.monotonic()
