"""Numbers of every pair: how far an explanation agrees with a truth, and with itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec_bench.explainers.protocol import Answer
from cerec_bench.explainers.truths import Truth

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Consistency:
    """Per pair; nan where the truth is empty, for then nobody can be right or wrong."""

    precision: Floats
    recall: Floats
    f1: Floats


def consistency(truth: Truth, answers: Sequence[Answer], pair: NDArray[np.integer]) -> Consistency:
    """Agreement of `answers[n]` with the truth of pair `pair[n]`.

    With E the named values and T the truth, both sets: precision |E & T| / |E|, recall
    |E & T| / |T|, F1 their harmonic mean. No explanation, or nothing right, is 0 in all three.
    A truth of both sides is compared with the named and the lost values.
    """
    named, at, value = _named(answers, both=truth.both)
    expected = truth.of_pair.counts[pair]
    hits = np.bincount(at[_is_true(truth, pair[at], value)], minlength=len(answers)).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(named > 0, hits / named, 0.0)
        recall = hits / expected
        f1 = 2 * hits / (named + expected)
    for numbers in (precision, recall, f1):
        numbers[expected == 0] = np.nan
    return Consistency(precision, recall, f1)


def _named(
    answers: Sequence[Answer], *, both: bool
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int32]]:
    """Things named by each answer; and every named value with the answer it stands in."""
    sets = [np.union1d(a.values, a.lost) if both else a.values for a in answers]
    counts = np.array([len(s) for s in sets], np.int64)
    strays = np.array([a.strays for a in answers], np.int64)
    value = np.concatenate([*sets, np.zeros(0, np.int32)]).astype(np.int32)
    return (counts + strays).astype(float), np.repeat(np.arange(len(answers)), counts), value


def _is_true(
    truth: Truth, pair: NDArray[np.integer], value: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Whether each value stands in the truth of its pair."""
    table = truth.of_pair
    width = int(max(table.indices.max(initial=0), value.max(initial=0))) + 1
    key = table.row_of().astype(np.int64) * width + table.indices  # rising, as rows are sorted
    asked = pair.astype(np.int64) * width + value
    at = np.minimum(np.searchsorted(key, asked), max(len(key) - 1, 0))
    return key[at] == asked if len(key) else np.zeros(len(asked), bool)


def jaccard(one: Sequence[Answer], other: Sequence[Answer]) -> Floats:
    """Per pair, how much two answers agree in what they change: |A & B| / |A | B|.

    0 where either has no explanation: what is not there is not stable.
    """
    return np.array([_jaccard(_touched(a), _touched(b)) for a, b in zip(one, other, strict=True)])


def _touched(answer: Answer) -> set[tuple[str, int]]:
    parts = (("lost", answer.lost), ("gained", answer.gained), ("removed", answer.removed))
    return {(name, v) for name, rows in parts for v in rows.tolist()}


def _jaccard(a: set[tuple[str, int]], b: set[tuple[str, int]]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0


def stability(answers: Sequence[Sequence[Answer]]) -> Floats:
    """Per pair, the mean `jaccard` over all couples of seeds; nan for a single seed."""
    n = len(answers)
    couples = [(a, b) for a in range(n) for b in range(a + 1, n)]
    if not couples:
        return np.full(len(answers[0]) if answers else 0, np.nan)
    return np.asarray(np.mean([jaccard(answers[a], answers[b]) for a, b in couples], axis=0))


def harmonic(one: float, other: float) -> float:
    """F_NS of necessity and sufficiency; 0 when both are."""
    return 2 * one * other / (one + other) if one + other > 0 else 0.0
