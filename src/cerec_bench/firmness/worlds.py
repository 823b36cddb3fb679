"""Data by a short text: a folder, `demo`, or a generated world with settings of its own."""

from __future__ import annotations

import cerec
from cerec.data.dataset import Dataset
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError


def data_of(source: str) -> Dataset:
    """`world:SEED[:SETTING=VALUE,...]` is made, everything else is loaded."""
    kind, _, rest = source.partition(":")
    if kind != "world":
        return cerec.load(source)
    seed, _, settings = rest.partition(":")
    try:
        given = dict(part.split("=") for part in settings.split(",") if part)
        plain = WorldConfig()
        made = {n: type(getattr(plain, n))(float(v)) for n, v in given.items()}
        return make_world(WorldConfig(**made), seed=int(seed), name=source)
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"{source!r} names no world ({error}); write world:SEED or world:SEED:taste=0.5"
        ) from error
