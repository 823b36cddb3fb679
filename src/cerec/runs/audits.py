"""What a run answers about the whole of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError, positive

if TYPE_CHECKING:
    from cerec.audit import Difference, Findings, Trial
    from cerec.runs.run import Run


def audit_of(
    run: Run,
    *,
    k: int = 20,
    sample: int | None = None,
    by: Iterable[str] = (),
    items_by: Iterable[str] = (),
    least: int = 20,
    progress: Callable[[int], None] = lambda _: None,
) -> Findings:
    """See `Run.audit`."""
    from cerec.audit import groups_of, measure

    groups = groups_of(run.data, run.subject, tuple(by), tuple(items_by))
    return measure(
        run.data,
        run.subject,
        k=positive(k),
        users=_sampled(len(run.data.users), sample),
        groups=groups,
        least=positive(least),
        chosen=run.meta.get("chosen"),
        seed=run.seed,
        progress=progress,
    )


def trial_of(
    run: Run,
    attribute: str,
    *,
    k: int = 20,
    sample: int | None = None,
    by: Iterable[str] = (),
    least: int = 20,
    progress: Callable[[int], None] = lambda _: None,
) -> Trial:
    """See `Run.trial`."""
    from cerec.audit import groups_of, trial

    return trial(
        run.data,
        run.subject,
        attribute,
        k=positive(k),
        users=_sampled(len(run.data.users), sample),
        groups=groups_of(run.data, run.subject, tuple(by)),
        least=positive(least),
        seed=run.seed,
        progress=progress,
    )


def diff_of(
    a: Run,
    b: Run,
    *,
    k: int = 20,
    least: int = 20,
    progress: Callable[[int], None] = lambda _: None,
) -> Difference:
    """See `Run.diff`."""
    from cerec.audit import diff

    sides = (a.data, a.subject), (b.data, b.subject)
    return diff(*sides, k=positive(k), least=positive(least), progress=progress)


def _sampled(n: int, sample: int | None) -> NDArray[np.int64] | None:
    """So many users, evenly spread; None for all."""
    if sample is None:
        return None
    if sample < 1:
        raise ConfigError(f"sample must be at least 1, got {sample}")
    return np.unique(np.linspace(0, n - 1, min(sample, n)).astype(np.int64))
