"""Settings that have no effect in a training, each named in a line before it starts."""

from __future__ import annotations

from dataclasses import replace

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.recommend.base import NegativeSampler
from cerec.settings.models import find
from cerec.settings.run import RunConfig
from cerec.settings.train import SignalConfig

DEFAULT = RunConfig()


def unused(
    config: RunConfig,
    data: Dataset,
    facts: Facts,
    negatives: NegativeSampler | None = None,
    *,
    validated: bool = True,
) -> list[str]:
    """What will do nothing of what was asked, a line each; empty when all of it counts.

    `validated`: whether there is a validation part to stop by.
    """
    split = [f"note: {words}" for words in _of_split(config, data)]
    if config.linear is not None:
        return split + [f"note: {words}" for words in _of_linear(config, negatives)]
    out = split + [f"note: {words}" for words in _of_model(config, negatives)]
    if not validated and config.train.epochs == DEFAULT.train.epochs:
        out.append(
            "note: no validation part says when to stop, so all of train.epochs = "
            f"{config.train.epochs:,} are learned; set it to the best epoch of a run that has one"
        )
    if not config.system:
        out += [f"note: {words}" for words in (*_of_facts(config, facts), *_of_options(config))]
    return out


def in_force(config: RunConfig) -> SignalConfig:
    """The signals a training learns from: no counterfactuals where the model has no use for them,
    as a system of another package or CLiMF in its first form.
    """
    if config.system:
        return SignalConfig(counterfactuals="none")
    if config.recommender.model == "climf-original":
        return replace(config.signals, counterfactuals="none")
    return config.signals


def _of_split(config: RunConfig, data: Dataset) -> list[str]:
    wanted, default = config.split, DEFAULT.split
    shares = (wanted.train, wanted.valid, wanted.test)
    given = wanted.method == "given" or (
        wanted.method == "auto" and data.interactions.part is not None
    )
    if not given or shares == (default.train, default.valid, default.test):
        return []
    return [
        "this data comes in parts, which are kept; split.train, split.valid and split.test have "
        'no effect unless split.method = "ratio"'
    ]


def _of_linear(config: RunConfig, negatives: NegativeSampler | None) -> list[str]:
    """The default recommender has settings of its own; the agent, where one learns, has these."""
    out = []
    if negatives is not None:
        out.append("linear draws no negatives; negatives= has no effect")
    agent = config.linear is not None and config.linear.agent
    train = replace(DEFAULT.train, agent_epochs=config.train.agent_epochs)
    usual = replace(DEFAULT, train=train) if agent else DEFAULT
    names = ["recommender", "signals", *(() if agent else ("encoder", "agent")), "train"]
    said = [f"[{name}]" for name in names if getattr(config, name) != getattr(usual, name)]
    if said:
        have = "has" if len(said) == 1 else "have"
        end = " except train.agent_epochs" if agent and said[-1] == "[train]" else ""
        out.append(f"linear is trained; {' and '.join(said)} {have} no effect{end}")
    return out


def _of_model(config: RunConfig, negatives: NegativeSampler | None) -> list[str]:
    name = config.system[0] if config.system else config.recommender.model
    literal = not config.system and config.signals.counterfactuals == "literal"
    out = []
    draws = find(name).negatives if config.system else name != "climf-original"
    if negatives is not None and not draws:
        out.append(f"{name} draws no negatives; negatives= has no effect")
    elif negatives is not None and literal:
        out.append(
            'with signals.counterfactuals = "literal" negatives are the counterfactual items; '
            f"negatives= has an effect in the warm-up alone (train.warmup = {config.train.warmup})"
        )
    asked = (config.recommender, config.signals) != (DEFAULT.recommender, DEFAULT.signals)
    if config.system and asked:
        out.append(f"{name} is trained; [recommender] and [signals] have no effect")
    return out


def _of_facts(config: RunConfig, facts: Facts) -> list[str]:
    kind, name = config.signals.counterfactuals, config.recommender.model
    if name == "climf-original":
        silent = config.signals in (DEFAULT.signals, SignalConfig(counterfactuals="none"))
        words = "climf-original learns from liked items alone; [signals] has no effect"
        return [] if silent else [words]
    if kind == "none":
        return []
    if facts.n_values == 0:
        return [
            "no item of this data has attributes, so none has a counterfactual one; "
            f'signals.counterfactuals = "{kind}" draws uniform negatives instead'
        ]
    if config.train.epochs <= config.train.warmup:
        return [
            f"training ends with its warm-up (train.epochs = {config.train.epochs}, train.warmup "
            f'= {config.train.warmup}); signals.counterfactuals = "{kind}" has no effect'
        ]
    return []


def _of_options(config: RunConfig) -> list[str]:
    """Settings that only some choice of another one looks at."""
    rows = (
        ("signals", "dns_candidates", config.signals.negatives == "dns", "dns negatives"),
        (
            "recommender",
            "layers",
            config.recommender.model == "lightgcn",
            'recommender.model = "lightgcn"',
        ),
    )
    out = [
        f"{section}.{name} has an effect only with {where}"
        for section, name, used, where in rows
        if not used
        and getattr(getattr(config, section), name) != getattr(getattr(DEFAULT, section), name)
    ]
    if (config.agent.attribute_step, config.agent.item_step) == ("uniform", "uniform"):
        out.append("with both steps of its walk uniform the agent has nothing to learn")
    return out
