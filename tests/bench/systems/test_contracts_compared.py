"""What every compared system keeps, whatever its paper."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any

import numpy as np
import pytest

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.data.synthetic.generate import checkerboard
from cerec.errors import ConfigError, RunError
from cerec.recommend.base import EpochRecommender, Material
from cerec.recommend.negatives import Uniform, Walk
from cerec.rng import generator
from cerec_bench import systems as compared
from cerec_bench.systems.chunks import Unfactored, top_lists
from cerec_bench.systems.registry import SYSTEMS, system

N = 16
# Settings with which each system learns the board in a second or two, and for how many epochs.
SMALL: dict[str, tuple[dict[str, Any], int]] = {
    "neumf": ({"dim": 8, "layers": (16, 8), "batch": 32, "learning_rate": 0.01}, 40),
    "kgat": ({"dim": 8, "layers": (8, 4), "batch": 64, "kg_batch": 64, "pretrain": 5}, 20),
    "kgpolicy": ({"dim": 8, "hidden": 8, "batch": 32, "update": 64, "pretrain": 3}, 20),
    "kgqr": (
        {
            "dim": 8,
            "hidden": 16,
            "history": 8,
            "length": 4,
            "episodes": 64,
            "updates": 10,
            "batch": 64,
            "learning_rate": 0.01,
        },
        25,
    ),
    "mcrec": (
        {"dim": 8, "node_dim": 8, "filters": 8, "tower": (16,), "batch": 64, "dropout": 0.0}
        | {"learning_rate": 0.01, "pretrain": 5, "candidates": 12},
        30,
    ),
    "neuacf": ({"dim": 8, "hidden": 16, "batch": 64, "learning_rate": 0.01}, 20),
    "cadsi": ({"dim": 8, "batch": 64, "walks": 3, "hops": 2, "sampled": 8}, 20),
}
NAMES = sorted(SMALL)


def board() -> tuple[Dataset, Split]:
    data = checkerboard(N)
    table = data.interactions
    parts = [
        Ragged.from_pairs(table.user[table.part == p], table.item[table.part == p], N)
        for p in (0, 1, 2)
    ]
    return data, Split(*parts)


def make(name: str, data: Dataset, train: Ragged, seed: int = 3) -> EpochRecommender:
    entry = system(name)
    config = entry.config(**SMALL[name][0])
    return entry.make(config, Material(train, Facts.build(data), Ckg.build(data, train), seed))


def learn(model: EpochRecommender, train: Ragged, first: int, last: int) -> list[float]:
    user, item = train.row_of(), train.indices
    return [
        model.epoch(user, item, Uniform(), rng=generator(5, f"epoch/{epoch}"))
        for epoch in range(first, last)
    ]


def numbers(model: EpochRecommender) -> np.ndarray:
    if isinstance(model, Unfactored):
        return model.scores(np.arange(N))
    user, item = model.factors()
    return user @ item.T


def test_no_system_is_missing_from_the_contracts() -> None:
    assert set(SMALL) == set(SYSTEMS)


def test_no_recommender_is_missing_from_the_registry() -> None:
    data, parts = board()
    made = {type(make(name, data, parts.train)) for name in NAMES}
    found = set()
    for module in pkgutil.iter_modules(compared.__path__):
        loaded = importlib.import_module(f"{compared.__name__}.{module.name}")
        found |= {
            value
            for _, value in inspect.getmembers(loaded, inspect.isclass)
            if value.__module__ == loaded.__name__
            and all(hasattr(value, part) for part in ("epoch", "scorer", "load_state"))
        }
    assert found == made


@pytest.mark.parametrize("name", NAMES)
def test_learns_the_checkerboard(name: str) -> None:
    data, parts = board()
    model = make(name, data, parts.train)
    learn(model, parts.train, 0, SMALL[name][1])
    first = top_lists(model, parts.train, 1)[:, 0]
    right = np.mean(first == np.arange(N))  # the one unknown item of the user's colour
    assert right >= 0.9


@pytest.mark.parametrize("name", NAMES)
def test_training_twice_gives_the_same_bits_and_another_seed_others(name: str) -> None:
    data, parts = board()
    runs = []
    for seed in (3, 3, 4):
        model = make(name, data, parts.train, seed)
        losses = learn(model, parts.train, 0, 2)
        runs.append((losses, numbers(model)))
    assert runs[0][0] == runs[1][0]
    assert np.array_equal(runs[0][1], runs[1][1])
    if name not in ("itemknn",):
        assert not np.array_equal(runs[0][1], runs[2][1])


@pytest.mark.parametrize("name", NAMES)
def test_going_on_from_a_state_is_as_never_stopped(name: str) -> None:
    data, parts = board()
    whole = make(name, data, parts.train)
    learn(whole, parts.train, 0, 4)
    half = make(name, data, parts.train)
    learn(half, parts.train, 0, 2)
    saved = half.state()
    assert all(a.dtype == np.float32 for a in saved.values())
    learn(half, parts.train, 2, 3)  # a state is a copy: learning on leaves it alone
    other = make(name, data, parts.train, seed=99)
    other.load_state(saved)
    learn(other, parts.train, 2, 4)
    assert np.array_equal(numbers(whole), numbers(other))
    assert np.array_equal(whole.scorer().scores(3), other.scorer().scores(3))


@pytest.mark.parametrize("name", NAMES)
def test_a_state_of_another_shape_is_refused(name: str) -> None:
    data, parts = board()
    model = make(name, data, parts.train)
    state = model.state()
    key = next(iter(state))
    with pytest.raises(RunError, match=key.rpartition(".")[2]):
        model.load_state({k: v for k, v in state.items() if k != key})


@pytest.mark.parametrize("name", NAMES)
def test_the_scorer_orders_as_the_model(name: str) -> None:
    data, parts = board()
    model = make(name, data, parts.train)
    learn(model, parts.train, 0, 2)
    scorer = model.scorer()
    scores = np.stack([scorer.scores(u) for u in range(N)])
    np.testing.assert_allclose(scores, numbers(model), rtol=1e-4, atol=1e-5)
    assert np.isfinite(scores).all()
    assert scorer.effect.shape[0] == Facts.build(data).n_values


@pytest.mark.parametrize("name", NAMES)
def test_held_out_items_do_not_matter(name: str) -> None:
    """The model is made from train, facts and graph of train: other parts cannot reach it."""
    data, parts = board()
    whole = make(name, data, parts.train)
    only = dataclasses.replace(
        data,
        interactions=dataclasses.replace(
            data.interactions,
            user=data.interactions.user[data.interactions.part == 0],
            item=data.interactions.item[data.interactions.part == 0],
            part=data.interactions.part[data.interactions.part == 0],
        ),
    )
    blind = make(name, only, parts.train)
    for model in (whole, blind):
        learn(model, parts.train, 0, 2)
    assert np.array_equal(numbers(whole), numbers(blind))


@pytest.mark.parametrize("name", NAMES)
def test_a_sampler_that_wants_lists_gets_them(name: str) -> None:
    data, parts = board()
    model = make(name, data, parts.train)
    assert np.isfinite(
        model.epoch(parts.train.row_of(), parts.train.indices, Walk(), rng=np.random.default_rng(0))
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_authors_preset_is_of_the_same_kind(name: str) -> None:
    entry = system(name)
    assert isinstance(entry.config(**entry.authors), entry.config)
    assert entry.config() == entry.config()


def test_an_unknown_system_is_told() -> None:
    with pytest.raises(ConfigError, match="did you mean 'neumf'"):
        system("neumff")
