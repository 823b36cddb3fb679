"""Which data to leave out: the settings of the filters, and their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cerec.data import removing
from cerec.data.dataset import Dataset
from cerec.data.removing import EXAMPLES, Removed

if TYPE_CHECKING:
    from cerec.settings.data import FilterConfig


def apply(data: Dataset, config: FilterConfig | None = None) -> tuple[Dataset, tuple[Removed, ...]]:
    """Filter `data`, in the order of the settings; what went is returned and added to the notes.

    k-core, rare entities and relations, and items without attributes depend on each other and
    are repeated until nothing changes: the result meets all the thresholds at once.
    """
    if config is None:
        from cerec.settings.data import FilterConfig

        config = FilterConfig()
    removed: list[Removed] = []
    for step in _once(config):
        data, gone = step(data)
        removed += gone
    repeated = _repeated(config)
    while repeated:
        before = len(removed)
        for step in repeated:
            data, gone = step(data)
            removed += gone
        if len(removed) == before:
            break
    noted = _add_up(removed)
    return replace(data, notes=(*data.notes, *map(str, noted))), noted


Step = Callable[[Dataset], tuple[Dataset, list[Removed]]]


def _once(config: FilterConfig) -> list[Step]:
    steps: list[Step] = []
    if config.min_rating is not None:
        least = config.min_rating
        steps.append(lambda data: removing.drop_low_ratings(data, least))
    if config.duplicates:
        steps.append(removing.drop_duplicates)
    if config.merge_inverses:
        steps.append(removing.merge_inverses)
    if config.leave_out:
        steps.append(lambda data: removing.leave_out(data, config.leave_out))
    return steps


def _repeated(config: FilterConfig) -> list[Step]:
    steps: list[Step] = []
    if config.k_core:
        steps.append(lambda data: removing.k_core(data, config.k_core))
    if config.min_entity or config.min_relation:
        steps.append(lambda data: removing.drop_rare(data, config.min_entity, config.min_relation))
    if config.require_attributes:
        steps.append(removing.drop_items_without_attributes)
    return steps


def _add_up(removed: list[Removed]) -> tuple[Removed, ...]:
    """One entry per step and kind, for steps that were repeated."""
    total: dict[tuple[str, str], Removed] = {}
    for one in removed:
        old = total.get((one.step, one.kind), Removed(one.step, one.kind, 0, ()))
        examples = (*old.examples, *one.examples)[:EXAMPLES]
        total[one.step, one.kind] = Removed(one.step, one.kind, old.count + one.count, examples)
    return tuple(total.values())
