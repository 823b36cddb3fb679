"""Somebody known by a history alone is asked about as a user of the data is."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cerec
from cerec.errors import QuestionError
from cerec.explain.explanation import Explanation


def plain(e: Explanation) -> Explanation:
    """Without what names the user."""
    bare = replace(e, user="", names=e.names[1:], seconds=0.0, text="")
    return replace(bare, counterfactual_item=None)


@pytest.mark.parametrize("by", ["attributes", "history", "both"])
def test_a_history_is_explained_as_the_user_who_has_it(small_run: cerec.Run, by: str) -> None:
    user = small_run.data.users[5]
    history = [small_run.data.items[i] for i in small_run.known.row(5)]
    for line in small_run.recommend(user, k=5):
        want = small_run.explain(user, line.item, k=5, by=by)  # type: ignore[arg-type]
        got = small_run.explain(history=history, item=line.item, k=5, by=by)  # type: ignore[arg-type]
        assert got.user == "somebody new"
        assert replace(plain(got), path=(), beside=None) == replace(
            plain(want), path=(), beside=None
        )
    line = small_run.recommend_for(history, k=5)[0]
    attributes = small_run.attributes(line.item)[1:]
    one, other = (
        small_run.what_if(item=line.item, attributes=attributes, k=5, **who)
        for who in ({"user": user}, {"history": history[::-1]})
    )
    assert replace(one, user="") == replace(other, user="")


def test_a_user_or_a_history(small_run: cerec.Run, paper_run: cerec.Run) -> None:
    user, item = small_run.data.users[0], small_run.data.items[0]
    for who in ({}, {"user": user, "history": [item]}):
        with pytest.raises(QuestionError, match="give a user of the data, or history="):
            small_run.explain(item=item, **who)  # type: ignore[arg-type]
    with pytest.raises(QuestionError, match="cannot score somebody by a history alone"):
        paper_run.explain(history=[item], item=small_run.data.items[1])
