"""CLiMF as first published (Shi 2012): a smoothed reciprocal rank, learned from positives alone.

The paper's eq. 4, where counterfactual items take the second place, is `bpr.PairFactorisation`
with `alone = 1`.
"""

from __future__ import annotations

import numpy as np

from cerec.data.ragged import Ragged
from cerec.recommend import kernels
from cerec.recommend.base import NegativeSampler, Rows
from cerec.recommend.factors import FactorModel, batches

MOST = 200  # positives of a user looked at per epoch: the cost is quadratic in them


class ListFactorisation(FactorModel):
    """Minimises `-sum_i [ln s(f_ui) + sum_k ln s(f_ui - f_uk)]`, i and k over a user's positives.

    Nothing pushes unknown items down, so it ranks by popularity at best on large catalogues; it
    is here to compare with, and takes no negatives (those handed over are not drawn).
    """

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`; updates are of `config.batch` pairs, rounded to whole users."""
        del negatives
        f = self._factors
        lists = Ragged.from_pairs(user, item, len(f.user))
        per_user = max(1.0, lists.size / max(len(lists), 1))
        per_update = self.config.pairs_per_update(len(user))
        loss = 0.0
        for users in batches(len(lists), max(1, round(per_update / per_user)), rng):
            part = _positives(lists, users, rng)
            kernels.mark(users, f.touched_user)
            kernels.mark(part.indices, f.touched_item)
            loss += kernels.list_gradients(
                users,
                part.indptr,
                part.indices,
                f.user,
                f.item,
                self.config.l2,
                f.d_user,
                f.d_item,
            )
            f.step()
        return loss / max(len(user), 1)


def _positives(lists: Ragged, users: Rows, rng: np.random.Generator) -> Ragged:
    """The rows of these users, at most `MOST` entries of each, drawn without repeats."""
    rows = [lists.row(u) for u in users]
    rows = [r if len(r) <= MOST else np.sort(rng.choice(r, MOST, replace=False)) for r in rows]
    indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    return Ragged(indptr, np.concatenate(rows).astype(np.int32))
