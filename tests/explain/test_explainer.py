"""What holds for every explainer, whatever its recommender."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from explain_worlds import check_slowly, explainer, linear_subject, listed_pairs, world

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError, QuestionError, UnknownIdError
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.recommend.subject import Subject
from cerec.walk.paths import Proposals

KINDS = ("linear", "folded", "factors")
STATUS = {"linear": "verified", "folded": "verified", "factors": "canonical"}
K = 6


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def timeless(e: Explanation) -> Explanation:
    return replace(e, seconds=0.0)


def test_answers_are_what_a_full_ranking_says(kind: str) -> None:
    x = explainer(kind)
    answers = list(x.explain_many(listed_pairs(x, K), k=K, by="attributes"))
    found = [e for e in answers if e.found]
    assert len(found) > len(answers) / 2
    for e in found:
        assert e.status == STATUS[kind]
        assert e.certificate == "minimum"
        check_slowly(x, e)
    assert {e.status for e in answers} <= {STATUS[kind], "not_found", "no_attributes"}


def test_no_smaller_change_does_it(kind: str) -> None:
    """Plain enumeration of single replacements where the answer needs two."""
    x = explainer(kind)
    facts, support = x.subject.facts, x.subject.facts.holders.counts
    answers = list(x.explain_many(listed_pairs(x, K), k=K, by="attributes"))
    larger = [e for e in answers if e.found and e.size == 2][:12]
    for e in larger:
        item = x.data.items.row(e.item)
        own = facts.of_item.row(item)
        for lost, gained in product(own, np.flatnonzero(support >= 5)):
            same = facts.relation[lost] == facts.relation[gained]
            if not same or gained in own or support[lost] < 5:
                continue
            values = [v for v in own if v != lost] + [gained]
            pairs = [
                (x.data.relations[facts.relation[v]], x.data.entities[facts.attribute[v]])
                for v in values
            ]
            assert x.what_if(e.user, e.item, pairs, k=K).rank_after <= K


def test_one_by_one_is_the_same_as_many(kind: str) -> None:
    x = explainer(kind)
    pairs = listed_pairs(x, K)[::-3]
    many = list(x.explain_many(pairs, k=K, alternatives=1))
    for (user, item), e in zip(pairs, many, strict=True):
        assert timeless(x.explain(user, item, k=K, alternatives=1)) == timeless(e)


def test_a_table_says_the_same(kind: str) -> None:
    x = explainer(kind)
    table = x.explain_all(k=K, by="attributes")
    singly = list(x.explain_many(listed_pairs(x, K), k=K, by="attributes"))
    assert len(table) == len(singly)
    for row, e in zip(table.iter_rows(named=True), singly, strict=True):
        for name in ("user", "item", "status", "text", "certificate", "replacement", "margin"):
            assert row[name] == getattr(e, name), name
        for name in ("rank_before", "rank_after", "score_after", "cutoff", "counterfactual_item"):
            assert row[name] == getattr(e, name), name
        changes = [(c["relation"], c["before"], c["after"]) for c in row["changes"]]
        assert changes == [(c.relation, c.before, c.after) for c in e.changes]
        top = sorted((r.part for r in e.reasons if "usual" not in r.kind), reverse=True)[:3]
        assert [r["part"] for r in row["reasons"]] == pytest.approx(top, abs=1e-9)
    some = x.explain_all(["u07", "u02"], K, by="attributes")
    assert some["user"].unique(maintain_order=True).to_list() == ["u07", "u02"]


def test_the_default_falls_back_to_the_history() -> None:
    x = explainer("linear")
    pairs = listed_pairs(x, K)
    answers = list(x.explain_many(pairs, k=K))
    plain = list(x.explain_many(pairs, k=K, by="attributes"))
    table = x.explain_all(k=K)
    turned = 0
    for e, other, text in zip(answers, plain, table["text"], strict=True):
        assert e.text == text
        if other.found:
            assert e.by == "attributes"
        elif e.by == "history":
            turned += 1
            assert e.status == "verified"
            assert f"in your history, it would be at rank {e.rank_after}." in e.text
            assert e.rank_after > K
            assert {n.id for n in e.history} <= {
                x.data.items[i] for i in x.subject.known.row(x.data.users.row(e.user))
            }
    assert turned > 0


def test_by_history_and_both() -> None:
    x = explainer("linear")
    user, item = listed_pairs(x, K)[0]
    history = x.explain(user, item, k=K, by="history")
    assert (history.by, history.changes) == ("history", ())
    both = x.explain(user, item, k=K, by="both")
    assert both.beside is not None
    assert {both.by, both.beside.by} == {"attributes", "history"}
    with pytest.raises(ConfigError, match="needs a recommender that scores histories"):
        explainer("factors").explain(user, item, k=K, by="history")


def test_why_not(kind: str) -> None:
    x = explainer(kind)
    found = 0
    for u, user in enumerate(x.data.users):
        other = x.data.items[int(x.listed(u, K + 5)[-1])]
        e = x.explain(user, why_not=other, k=K, by="attributes")
        assert e.question == "why_not"
        assert e.text.startswith(
            f"{e.name_of(other)} is not in your top {K}: it is at rank {K + 5}"
        )
        if e.found:
            found += 1
            check_slowly(x, e)
            assert e.rank_after <= K
    assert found > 3
    listed = x.data.items[int(x.listed(0, K)[0])]
    with pytest.raises(QuestionError, match="in the list already, at rank 1"):
        x.explain("u00", why_not=listed, k=K)
    known = x.data.items[int(x.subject.known.row(0)[0])]
    with pytest.raises(QuestionError, match="already, so it is never listed"):
        x.explain("u00", why_not=known, k=K)
    told = x.explain("u00", known, k=K)
    assert (told.status, told.rank_before) == ("not_recommended", None)
    assert told.text.endswith("is not recommended to you: you have it already.")


def test_locks_limits_and_kinds_of_changes(kind: str) -> None:
    x = explainer(kind)
    pairs = listed_pairs(x, K)
    for e in x.explain_many(pairs, k=K, by="attributes", lock=["r00"]):
        assert all(c.relation != "r00" for c in e.changes)
    for e in x.explain_many(pairs, k=K, by="attributes", lock=[("r01", "a01")]):
        assert not any({"a01"} & {c.before, c.after} for c in e.changes if c.relation == "r01")
    for e in x.explain_many(pairs, k=K, by="attributes", max_changes=1):
        assert e.size <= 1
    removed = list(x.explain_many(pairs, k=K, by="attributes", changes="remove"))
    assert any(e.found for e in removed)
    assert all(c.after is None for e in removed for c in e.changes)
    for e in x.explain_many(pairs, k=K, by="attributes", changes="any"):
        if e.found:
            check_slowly(x, e)


@pytest.mark.parametrize("wish", [{"scope": "item"}, {"prefer": "near"}])
def test_values_that_one_item_has_together(kind: str, wish: dict[str, Any]) -> None:
    x = explainer(kind)
    pairs = listed_pairs(x, K)[:24]
    free = list(x.explain_many(pairs, k=K, by="attributes"))
    for e, least in zip(x.explain_many(pairs, k=K, by="attributes", **wish), free, strict=True):
        if e.found:
            check_slowly(x, e)
            assert e.counterfactual_item is not None
            assert e.size >= least.size


def test_alternatives_and_relations(kind: str) -> None:
    x = explainer(kind)
    several = 0
    for user, item in listed_pairs(x, K)[:20]:
        e = x.explain(user, item, k=K, by="attributes", alternatives=2, relations=True)
        gained = [{(c.relation, c.after) for c in a.changes} for a in (e, *e.alternatives)]
        assert len(set.union(*gained)) == sum(map(len, gained))
        several += len(e.alternatives)
        for a in e.alternatives:
            check_slowly(x, a)
        for a in e.by_relation:
            assert len({c.relation for c in a.changes}) == 1
            check_slowly(x, a)
    assert several > 5


def test_relations_computed_from_interactions_are_kept() -> None:
    data, facts, known = world(0, relations={"r00": "also_bought"})
    x = Explainer(data, linear_subject(facts, known))
    user, item = listed_pairs(x, K)[3]
    e = x.explain(user, item, k=K, by="attributes")
    assert all(c.relation != "r00" for c in e.changes)
    assert e.notes == ("also bought looks computed from what people did, so it was kept as it is.",)
    free = list(x.explain_many(listed_pairs(x, K), k=K, by="attributes", unlock=["also_bought"]))
    assert not free[0].notes
    assert any(c.relation == "r00" for e in free for c in e.changes)


def test_rare_attributes_are_not_called_unknown() -> None:
    x = explainer("linear")
    texts = {}
    for item in ("i00", "i01"):
        user = next(u for u in range(12) if x.data.items.row(item) not in x.subject.known.row(u))
        e = x.explain(x.data.users[user], item, k=40, by="attributes")
        assert e.status == "no_attributes"
        texts[item] = e.text
    assert "Nothing is known of its attributes" in texts["i00"]
    assert "Its attributes are too rare to count" in texts["i01"]


class Agent:
    """Names the first items outside the list, by a walk through the first attribute."""

    def propose(self, user: Any, item: Any, excluded: Ragged, width: int) -> Proposals:
        rows = [
            [j for j in range(2, 40) if j not in excluded.row(b) and j != item[b]][:width]
            for b in range(len(user))
        ]
        found = np.array([j for row in rows for j in row], np.int32)
        path = np.full((len(found), 2, 2), -1, np.int32)
        return Proposals(np.cumsum([0, *map(len, rows)]), found, path)


def test_toward_the_item_the_agent_names() -> None:
    plain = explainer("linear")
    x = Explainer(plain.data, plain.subject, Agent())
    pairs = listed_pairs(x, K)[:30]
    best = list(x.explain_many(pairs, k=K, by="attributes"))
    found = 0
    for e, least in zip(x.explain_many(pairs, k=K, by="agent"), best, strict=True):
        if e.found:
            found += 1
            assert (e.by, e.certificate) == ("agent", "toward")
            assert e.counterfactual_item not in {item for u, item in pairs if u == e.user}
            assert e.size >= least.size
            check_slowly(x, e)
    assert found > 5
    assert all(e.counterfactual_item is not None for e in best if e.found)
    with pytest.raises(ConfigError, match="needs a trained agent"):
        plain.explain(*pairs[0], by="agent")
    with pytest.raises(QuestionError, match="walks away from listed items"):
        x.explain("u00", why_not=x.data.items[int(x.listed(0, 30)[-1])], by="agent")


def test_names_and_unknown_ids() -> None:
    x = explainer("linear")
    assert x.attributes("the third man") == x.attributes("i03")
    for question in (("u99", "i03"), ("u00", "i99")):
        with pytest.raises(UnknownIdError, match="did you mean"):
            x.explain(*question)
    with pytest.raises(UnknownIdError):
        x.explain("u00", "i03", lock=["colour"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": True},
        {"by": "magic"},
        {"changes": "swap"},
        {"prefer": "similar"},
        {"scope": "all"},
        {"max_changes": 0},
        {"alternatives": -1},
        {"budget": 0},
        {"lock": "genre"},
        {"unlock": 3},
        {"scope": "item", "changes": "remove"},
    ],
)
def test_bad_wishes_end_in_one_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as error:
        explainer("linear").explain("u00", "i03", **wrong)
    assert "\n" not in str(error.value)
    assert str(list(wrong)[-1]) in str(error.value) or "scope" in str(error.value)
    with pytest.raises(QuestionError):
        explainer("linear").explain("u00")


def test_what_if_and_compare() -> None:
    x = explainer("linear")
    user, item = listed_pairs(x, K)[2]
    same = x.what_if(user, item, x.attributes(item), k=K)
    assert (same.score, same.rank_after) == (same.score_before, same.rank_before)
    assert [line.rank for line in same.list] == list(range(1, K + 1))
    bare = x.what_if(user, item, [], k=K)
    assert bare.score == x.rescore(user, item, [])
    first, second = listed_pairs(x, K)[0][1], listed_pairs(x, K)[4][1]
    for one, other in ((first, second), (second, first)):
        c = x.compare(user, one, other)
        assert sum(r.part for r in c.parts) == pytest.approx(c.difference, abs=1e-9)
        assert ("before" in c.text) == (c.difference > 0)
    known = x.data.items[int(x.subject.known.row(0)[0])]
    with pytest.raises(QuestionError, match=r"has .* already"):
        x.what_if("u00", known, [])


def test_a_subject_without_effects_is_explained_by_nothing_but_says_so() -> None:
    data, facts, known = world(0)
    plain = explainer("factors").subject
    none = Subject(
        facts,
        known,
        np.zeros(0, np.int32),
        Ragged.from_pairs(np.zeros(0, int), np.zeros(0, int), len(data.items)),
        np.ones(len(data.items)),
        "none",
        plain.model,
    )

    class Bare:
        def both(self, users: Any) -> Any:
            return plain.scores(users), np.zeros((len(users), 0))

    x = Explainer(data, replace(none, model=Bare()))
    answers = list(x.explain_many(listed_pairs(x, K), k=K))
    assert {e.status for e in answers} == {"no_attributes"}
    assert len(x.explain_all(k=K)) == len(answers)
