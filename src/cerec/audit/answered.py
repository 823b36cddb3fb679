"""What attributes answer for listed items: the smallest change, and each relation by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cerec.audit.parts import AuditParts, Bits, Block
from cerec.explain.changes.answers import Question, answer_asked, answer_listed
from cerec.explain.changes.values import NO_LOSS, Values
from cerec.recommend.rank import lean


class Answered(NamedTuple):
    """By listed pair. R: relations, in the order of `AuditParts.relations`."""

    found: Bits
    """(n, k) whether attributes have an answer."""
    changed: Bits
    """(n, k, R) relations that it changes."""
    needed: Bits
    """(n, k, R) relations in which a change alone would do."""


def answered(block: Block, values: Values, parts: AuditParts) -> Answered:
    """Answers for all listed pairs of a block, and for each of their relations alone."""
    shape, wide = block.listed.shape, len(parts.relations)
    found, changed = np.zeros(shape, bool), np.zeros((*shape, wide), bool)
    if wide == 0:
        return Answered(found, changed, changed)
    known, asked = parts.subject.known, (values, Question(k=parts.k))
    a = answer_listed(block.users, known, block.scores, block.effects, *asked)
    row = np.searchsorted(block.users, a.user)
    place = (block.listed[row] == a.item[:, None]).argmax(axis=1)
    found[row, place] = a.status == 0
    of_change = np.repeat(np.arange(len(a)), a.size)
    changed[row[of_change], place[of_change], parts.place[np.maximum(a.lost, a.gained)]] = True
    needed = changed & (changed.sum(axis=2) == 1)[..., None]
    ask = np.zeros_like(needed)
    least = np.empty(len(values.several))
    _may(block.listed, block.scores, block.effects, block.cutoff, values, parts.place, least, ask)
    row, place, alone = np.nonzero(ask & found[..., None] & ~needed)
    some, only = np.unique(row), parts.relations[alone]
    pairs = block.users[row], block.listed[row, place]
    b = answer_asked(*pairs, known, block.scores[some], block.effects[some], *asked, relation=only)
    needed[row, place, alone] = b.status == 0
    return Answered(found, changed, needed)


@lean
def _may(listed, scores, effects, cutoff, values, place, least, out):  # type: ignore[no-untyped-def]
    """Which relations might do alone: as if all that goes were replaced by the best there is."""
    for u in range(len(listed)):
        for kind in range(len(least)):
            least[kind] = np.inf
            for q in range(values.gain_at[kind], values.gain_at[kind + 1]):
                least[kind] = min(least[kind], effects[u, values.gain[q]])
        for r in range(listed.shape[1]):
            i = max(listed[u, r], 0)
            p, end = values.at[i], values.at[i + 1]
            while p < end and listed[u, r] >= 0:
                kind, drop = values.relation[values.of_item[p]], 0.0
                while p < end and values.relation[values.of_item[p]] == kind:
                    v = values.of_item[p]
                    if not values.mark[v] & NO_LOSS:
                        drop += max(effects[u, v] - least[kind], 0.0)
                    p += 1
                falls = scores[u, i] - values.scale[i] * drop <= cutoff[u]
                out[u, r, place[values.of_item[p - 1]]] = values.tree[kind] or falls
