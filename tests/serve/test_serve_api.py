"""Every endpoint: its answers equal the run's, equal questions get equal answers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from cerec.explain.explanation import Explanation, WhatIf
from cerec.runs.run import Run
from cerec.serve import schemas
from cerec.serve.app import create_app
from cerec.serve.service import Service

Pair = tuple[str, str]


def test_users_are_found_by_id(client: TestClient, small_run: Run) -> None:
    user = small_run.data.users[7]
    found = client.get("/v1/users", params={"q": user, "limit": 3}).json()
    assert found["results"][0]["id"] == user
    assert found["results"][0]["history"] == len(small_run.known.row(7))
    schemas.Users.model_validate(found)


def test_pages_cover_all_users_once(client: TestClient, small_run: Run) -> None:
    seen = []
    for offset in range(0, len(small_run.data.users), 25):
        page = client.get("/v1/users", params={"limit": 25, "offset": offset}).json()
        seen += [u["id"] for u in page["results"]]
    assert sorted(seen) == sorted(small_run.data.users)


def test_items_are_found_by_name(client: TestClient, small_run: Run) -> None:
    name = small_run.data.items.name(3)
    found = client.get("/v1/items", params={"q": name.upper()}).json()
    assert small_run.data.items[3] in [i["id"] for i in found["results"]]


def test_history_is_the_train_part(client: TestClient, small_run: Run) -> None:
    user = small_run.data.users[0]
    known = small_run.known.row(0)
    found = client.get("/v1/history", params={"user": user, "limit": 100}).json()
    assert found["total"] == len(known)
    assert [i["id"] for i in found["results"]] == [small_run.data.items[int(i)] for i in known]


def test_recommendations_are_those_of_the_run(client: TestClient, small_run: Run) -> None:
    user = small_run.data.users[1]
    found = client.get("/v1/recommendations", params={"user": user, "k": 7}).json()
    expected = [(r.item, r.name, r.score, r.rank) for r in small_run.recommend(user, 7)]
    assert [(r["item"], r["name"], r["score"], r["rank"]) for r in found["results"]] == expected
    schemas.Recommendations.model_validate(found)


def test_explanation_is_that_of_the_run_without_seconds(
    client: TestClient, small_run: Run, pair: Pair
) -> None:
    user, item = pair
    question = {"user": user, "item": item, "k": 5, "alternatives": 2}
    answer = client.post("/v1/explanation", json=question)
    expected = small_run.explain(user, item, k=5, alternatives=2, budget=2.0).to_dict()
    for one in (expected, *expected["alternatives"]):
        one.pop("seconds")
    assert answer.json() == expected
    assert answer.headers["server-timing"].startswith("explain;dur=")
    TypeAdapter(Explanation).validate_python(answer.json())


def test_somebody_new_is_a_history(client: TestClient, small_run: Run) -> None:
    history = [small_run.data.items[i] for i in small_run.known.row(7)]
    found = client.get("/v1/recommendations", params={"history": history, "k": 5}).json()
    want = client.get("/v1/recommendations", params={"user": small_run.data.users[7], "k": 5})
    assert found["user"] == {"id": "somebody new", "name": "somebody new"}
    assert found["results"] == want.json()["results"]
    item = found["results"][0]["item"]
    question = {"history": history, "item": item, "k": 5}
    answer = client.post("/v1/explanation", json=question).json()
    assert answer["text"] == small_run.explain(history=history, item=item, k=5).text
    imagined = client.post("/v1/what-if", json={**question, "attributes": []}).json()
    assert imagined["rank_before"] == 1
    for who in ({}, {"user": small_run.data.users[7], "history": history}):
        assert client.get("/v1/recommendations", params=who).status_code == 422
        assert client.post("/v1/explanation", json={**who, "item": item}).status_code == 422


def test_locked_relation_stays(client: TestClient, pair: Pair) -> None:
    user, item = pair
    first = client.post("/v1/explanation", json={"user": user, "item": item, "k": 5}).json()
    relation, before = first["changes"][0]["relation"], first["changes"][0]["before"]
    locks: list[object] = [relation] + ([[relation, before]] if before else [])
    for lock in locks:
        question = {"user": user, "item": item, "k": 5, "lock": [lock]}
        second = client.post("/v1/explanation", json=question).json()
        changed = [(c["relation"], c["before"]) for c in second["changes"]]
        assert (relation, before) not in changed


def test_why_not_asks_about_an_unlisted_item(client: TestClient, small_run: Run) -> None:
    user = small_run.data.users[0]
    unlisted = small_run.recommend(user, 12)[11].item
    found = client.post("/v1/explanation", json={"user": user, "why_not": unlisted, "k": 5}).json()
    assert found["question"] == "why_not"
    assert found["rank_before"] == 12
    assert found["status"] != "verified" or found["rank_after"] <= 5


def test_what_if_is_that_of_the_run(client: TestClient, small_run: Run, pair: Pair) -> None:
    user, item = pair
    attributes = small_run.attributes(item)[1:]
    question = {"user": user, "item": item, "attributes": attributes, "k": 5}
    found = client.post("/v1/what-if", json=question).json()
    expected = small_run.what_if(user, item, attributes, k=5)
    assert found == expected.to_dict()
    TypeAdapter(WhatIf).validate_python(found)


def test_pull_is_what_the_score_loses(client: TestClient, small_run: Run, pair: Pair) -> None:
    user, item = pair
    own = small_run.attributes(item)
    whole = small_run.rescore(user, item, own)
    found = client.get("/v1/attributes", params={"item": item, "user": user}).json()
    assert [(a["relation"]["id"], a["attribute"]["id"]) for a in found["results"]] == own
    for n, entry in enumerate(found["results"]):
        without = small_run.rescore(user, item, own[:n] + own[n + 1 :])
        assert entry["pull"] == pytest.approx(whole - without, abs=1e-9)


def test_values_of_a_relation(client: TestClient, small_run: Run) -> None:
    relation = small_run.data.relations[int(small_run.facts.relation[0])]
    found = client.get("/v1/values", params={"relation": relation, "limit": 100}).json()
    row = small_run.data.relations.row(relation)
    assert found["total"] == int((small_run.facts.relation == row).sum())
    counts = [v["items"] for v in found["results"]]
    assert counts == sorted(counts, reverse=True)


def test_run_and_overview(client: TestClient, small_run: Run) -> None:
    facts = client.get("/v1/run").json()
    assert facts["histories"] is True
    assert facts["data"]["users"] == len(small_run.data.users)
    schemas.RunFacts.model_validate(facts)
    overview = client.get("/v1/overview").json()
    schemas.Overview.model_validate(overview)
    assert sum(overview["status"].values()) == overview["pairs"]
    assert overview["pairs"] == 20 * len(small_run.data.users)  # every listed item counts
    assert sum(s["count"] for s in overview["sizes"]) == sum(overview["certificates"].values())
    assert len(overview["history"]) == len(small_run.history)


def test_what_lists_depend_on_and_a_trial(client: TestClient, small_run: Run) -> None:
    def patient(path: str, **params: str) -> Any:
        found = client.get(path, params=params)
        return found if found.status_code != 503 else patient(path, **params)

    audit = patient("/v1/audit").json()
    assert audit["text"].startswith("The order of this list depends mainly on")
    assert sum(p["share"]["value"] for p in audit["parameters"]) == pytest.approx(1.0)
    trial = patient("/v1/trial", relation="decade").json()
    expected = small_run.trial("decade", sample=500)
    assert trial["depends"]["value"] == pytest.approx(expected.depends.value)
    assert client.get("/v1/trial", params={"relation": "nope"}).status_code == 404
    refused = patient("/v1/trial", relation="born_in")
    assert refused.status_code == 422
    assert "a trial needs two" in refused.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/users?q=1", "/v1/run", "/v1/overview", "/v1/items"])
def test_equal_requests_get_equal_answers(client: TestClient, path: str) -> None:
    assert client.get(path).content == client.get(path).content


def test_equal_questions_by_post_too(client: TestClient, service: Service, pair: Pair) -> None:
    question = {"user": pair[0], "item": pair[1], "k": 5, "alternatives": 3}
    answers = {client.post("/v1/explanation", json=question).content for _ in range(3)}
    assert len(answers) == 1


def test_unknown_ids_get_near_matches(client: TestClient, small_run: Run) -> None:
    user = small_run.data.users[5]
    answer = client.get("/v1/recommendations", params={"user": user + "x"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    problem = schemas.Problem.model_validate(answer.json())
    assert problem.kind == "user"
    assert user in (problem.matches or [])


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/recommendations?user=u&k=0", "k"),
        ("/v1/recommendations?user=u&k=100000", "k"),
        ("/v1/recommendations?user=u&k=NaN", "k"),
        ("/v1/recommendations?user=", "user"),
        ("/v1/users?limit=1000", "limit"),
        ("/v1/users?offset=-1", "offset"),
        (f"/v1/users?q={'x' * 300}", "q"),
    ],
)
def test_bad_parameters_name_the_field(client: TestClient, path: str, field: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 422
    assert field in [e["field"] for e in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"k": 10_000}, "k"),
        ({"k": 2.5}, "k"),
        ({"alternatives": 99}, "alternatives"),
        ({"budget": 1e9}, "budget"),
        ({"budget": 0}, "budget"),
        ({"max_changes": 0}, "max_changes"),
        ({"lock": ["a"] * 100}, "lock"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_bad_questions_name_the_field(
    client: TestClient, pair: Pair, change: dict[str, object], field: str
) -> None:
    question = {"user": pair[0], "item": pair[1], **change}
    answer = client.post("/v1/explanation", json=question)
    assert answer.status_code == 422
    assert any(e["field"].startswith(field) for e in answer.json()["errors"])


def test_neither_item_nor_why_not_is_refused(client: TestClient, pair: Pair) -> None:
    answer = client.post("/v1/explanation", json={"user": pair[0]})
    assert answer.status_code == 422
    assert "why_not" in answer.json()["detail"]


HOSTILE = [
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "\x00",
    "a" * 500,
    "'; DROP--",
    "😀",
    "‮",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless(client: TestClient, pair: Pair, text: str) -> None:
    for path, params in [
        ("/v1/users", {"q": text[:200]}),
        ("/v1/recommendations", {"user": text}),
        ("/v1/attributes", {"item": text}),
        ("/v1/values", {"relation": text}),
    ]:
        assert client.get(path, params=params).status_code in {200, 404, 422}
    for question in (
        {"user": text, "item": text},
        {"user": pair[0], "item": pair[1], "lock": [text]},
    ):
        assert client.post("/v1/explanation", json=question).status_code in {404, 422}


@pytest.mark.parametrize(
    "body",
    [
        b'{"user": NaN}',
        b'{"user": "\\ud800", "item": "x"}',
        b"[" * 5000,
        b"\xff\xfe",
        b"",
        b'{"user":"a","item":"b","budget":1e999}',
        b'{"user":"a","item":"b","k":123456789012345678901234567890}',
    ],
)
def test_hostile_bodies_are_refused(client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/explanation", content=body, headers=headers)
    assert answer.status_code in {400, 404, 422}
    assert answer.headers["content-type"] == "application/problem+json"


def test_description_has_bounds_and_examples(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    schemas_ = described["components"]["schemas"]
    assert schemas_["ExplainQuestion"]["properties"]["k"]["maximum"] == 200
    assert schemas_["ExplainQuestion"]["examples"]
    assert schemas_["Problem"]["examples"]
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path


def test_scores_are_finite(client: TestClient, small_run: Run) -> None:
    found = client.get("/v1/recommendations", params={"user": small_run.data.users[0], "k": 200})
    assert all(math.isfinite(r["score"]) for r in found.json()["results"])


def test_an_answer_that_is_not_of_its_kind_is_not_sent(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "users", lambda *_: {"total": "many", "results": []})
    app = create_app(service)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as asked:
        assert asked.get("/v1/users").status_code == 500
