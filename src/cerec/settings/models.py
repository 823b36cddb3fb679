"""Recommenders of other packages, found by entry point: `[model]` has their name and settings.

A package offers one by an entry point of the group `cerec.recommenders`, whose name is that of the
model and whose object is a `Model`. None is imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cerec.errors import ConfigError, near_matches
from cerec.settings.base import parse

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "cerec.recommenders"


class Model(Protocol):
    """What an entry point names."""

    @property
    def config(self) -> type[Any]:
        """The class of its settings, made with `cerec.settings.settings("model")`."""
        ...

    @property
    def make(self) -> Callable[[Any, Any], Any]:
        """Settings and `cerec.recommend.base.Material` -> a new `Recommender`."""
        ...

    @property
    def negatives(self) -> bool:
        """Whether it learns from negatives that a sampler draws."""
        ...


def installed() -> list[str]:
    """The names of all models that packages offer."""
    return sorted({point.name for point in _offered()})


def _offered() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # itself slow to import

    return entry_points(group=GROUP)


def find(name: str) -> Model:
    """The model of that name; an unknown name is refused with near matches."""
    found = [point for point in _offered() if point.name == name]
    if not found:
        known = installed()
        near = near_matches(name, known, most=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"
        raise ConfigError(f"unknown model {name!r}; {hint}")
    try:
        model: Model = found[0].load()
    except ImportError as error:
        package = found[0].dist.name if found[0].dist else "cerec"
        extra = "[bench]" if package == "cerec" else ""
        raise ConfigError(
            f"the model {name!r} cannot be imported: {error}; pip install '{package}{extra}'"
        ) from None
    return model


def resolve(table: Mapping[str, Any]) -> tuple[str, Any]:
    """Name and settings of the model that a table `[model]` describes."""
    name, rest = _parts(table)
    return name, parse(find(name).config, rest, "model")


def _parts(table: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name = table.get("name")
    if not isinstance(name, str):
        raise ConfigError(f"model.name must be the name of a model, got {name!r:.60}")
    return name, {key: value for key, value in table.items() if key != "name"}
