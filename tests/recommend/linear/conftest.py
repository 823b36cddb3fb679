"""A small world and a model of it, with and without factors."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.split import Split, split
from cerec.data.synthetic.generate import make_world
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.folding import Folding
from cerec.recommend.linear.model import Linear
from cerec.settings.data import SplitConfig
from worlds import SMALL


@pytest.fixture(scope="package")
def world() -> Dataset:
    return make_world(SMALL, seed=1)


@pytest.fixture(scope="package")
def parts(world: Dataset) -> Split:
    return split(world, SplitConfig(), seed=0)


@pytest.fixture(scope="package")
def material(world: Dataset, parts: Split) -> FitMaterial:
    return FitMaterial(parts.train, np.ones(parts.train.size), Facts.build(world))


@pytest.fixture(scope="package", params=["plain", "factors"])
def model(request: pytest.FixtureRequest, material: FitMaterial, world: Dataset) -> Linear:
    relations = {int(r): 0.05 + 0.01 * n for n, r in enumerate(np.unique(material.relation))}
    chosen = Chosen(penalty=3.0, popularity=0.05, relations=relations)
    if request.param == "factors":
        folding = Folding(dim=8, rest=0.1, pull=2.0, prior=2.0, sweeps=3)
        chosen = Chosen(3.0, 0, 0.05, relations, folding, 0.7)
    return Linear(build(material, chosen), world.users, world.items)
