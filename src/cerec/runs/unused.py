"""Settings that have no effect in a training, each named in a line before it starts."""

from __future__ import annotations

from dataclasses import replace

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.settings.run import LINEAR, RunConfig


def unused(config: RunConfig, data: Dataset, facts: Facts, *, validated: bool = True) -> list[str]:
    """What was set and does nothing, a line each; empty when all of it counts.

    `validated`: whether there is a validation part to stop by.
    """
    default, out = RunConfig(), []
    parts, split = data.interactions.part is not None, config.split
    if parts and split.method in ("auto", "given") and split != replace(
        default.split, method=split.method, carve=split.carve
    ):  # fmt: skip
        out.append(
            'this data comes in parts, which are kept; set split.method = "ratio" to part it'
        )
    tables = _tables(config)
    if tables:
        out.append(f"{config.model['name']} is trained; {' and '.join(tables)} will do nothing")
    if config.linear is None:
        out += _of_training(config, facts, validated=validated)
    return [f"note: {words}" for words in out]


def _tables(config: RunConfig) -> list[str]:
    """Tables of settings that the recommender does not read, and that were changed."""
    default = RunConfig()
    read = {"recommender", "signals", "encoder", "agent", "train"}
    if config.model["name"] == LINEAR:
        read = {"encoder", "agent", "train"} if config.linear and config.linear.agent else set()
        epochs = config.train.agent_epochs  # all of [train] that an agent on it reads
        default = (
            replace(default, train=replace(default.train, agent_epochs=epochs)) if read else default
        )
        read -= {"train"}
    elif config.system:
        read -= {"recommender", "signals"}
    every = ("recommender", "signals", "encoder", "agent", "train")
    changed = (name for name in every if getattr(config, name) != getattr(default, name))
    return [f"[{name}]" for name in changed if name not in read]


def _of_training(config: RunConfig, facts: Facts, *, validated: bool) -> list[str]:
    out, train, kind = [], config.train, config.signals.counterfactuals
    if not validated and train.epochs >= 400:  # that many nobody means
        out.append(
            f"no validation part says when to stop, so all of train.epochs = {train.epochs:,} are "
            "learned; set it to the best epoch of a run that has one"
        )
    if config.system or kind == "none":
        return out
    if facts.n_values == 0:
        out.append(
            "no item of this data has attributes, so none has a counterfactual one; "
            f'signals.counterfactuals = "{kind}" draws uniform negatives instead'
        )
    elif train.epochs <= train.warmup:
        out.append(
            f"training ends with its warm-up (train.epochs = {train.epochs}, train.warmup "
            f'= {train.warmup}); signals.counterfactuals = "{kind}" has no effect'
        )
    return out
