"""The tools for assistants, asked by the package's own client over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cerec

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from cerec.serve.gate import Gate
from cerec.serve.guard import Access
from cerec.serve.limits import Limits
from cerec.serve.mcp import build, http_app
from cerec.serve.server import Address, http_config, listen, url_of

PATIENT = Limits(seconds=300.0, budget=60.0)
TOOLS = {"recommend", "explain", "why_not", "what_if", "audit_summary"}


@pytest.fixture(scope="module")
def folder(small_run: cerec.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run.save(tmp_path_factory.mktemp("mcp") / "run")


def ask(server: Any, questions: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The answers of a server, its tools first."""

    async def talk() -> list[Any]:
        async with Client(server) as client:
            found: list[Any] = [{t.name for t in (await client.list_tools()).tools}]
            found += [await client.call_tool(name, given) for name, given in questions]
            return found

    return asyncio.run(asyncio.wait_for(talk(), 120))


@pytest.mark.parametrize("kind", ["small_run", "paper_run"])
def test_answers_are_those_of_python(kind: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(kind)
    user = run.data.users[0]
    listed = run.recommend(user, 5)
    item, last = listed[0].item, run.recommend(user, 20)[-1].item
    server = build(run, PATIENT, Gate(PATIENT))
    tools, lists, why, not_, imagined, summary = ask(
        server,
        [
            ("recommend", {"user": user, "k": 5}),
            ("explain", {"user": user, "item": item, "k": 5}),
            ("why_not", {"user": user, "item": last, "k": 5}),
            ("what_if", {"user": user, "item": item, "attributes": run.attributes(item), "k": 5}),
            ("audit_summary", {"k": 5}),
        ],
    )
    assert tools == TOOLS
    assert [x["item"] for x in lists.structured_content["results"]] == [r.item for r in listed]
    expected = run.explain(user, item, 5)
    assert why.structured_content["text"] == expected.text
    assert why.structured_content["status"] == expected.status
    assert why.structured_content["certificate"] == expected.certificate
    assert not_.structured_content["text"] == run.explain(user, why_not=last, k=5).text
    assert imagined.structured_content["rank_before"] == 1
    assert "depends mainly on" in summary.structured_content["text"]


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("recommend", {"user": "nobody"}, "unknown user 'nobody'"),
        ("recommend", {"user": "u01", "k": 0}, "k"),
        ("explain", {"user": "u01"}, "item"),
        ("explain", {"user": "u01", "item": "none"}, "unknown item 'none'"),
        ("what_if", {"user": "u01", "item": "m01", "attributes": [["x", "y"]]}, "unknown relation"),
    ],
)
def test_wrong_arguments_are_clear_and_no_trace(
    small_run: cerec.Run, tool: str, given: dict[str, Any], words: str
) -> None:
    _, found = ask(build(small_run, PATIENT, Gate(PATIENT)), [(tool, given)])
    assert found.is_error
    assert words in found.content[0].text
    assert "Traceback" not in found.content[0].text


def test_over_stdio(folder: Path, small_run: cerec.Run) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cerec", "mcp", str(folder)],
        env={**os.environ, "CEREC_THREADS": "1"},
    )
    tools, found = ask(command, [("recommend", {"user": "u01", "k": 3})])
    assert tools == TOOLS
    items = [x["item"] for x in found.structured_content["results"]]
    assert items == [r.item for r in small_run.recommend("u01", 3)]


@pytest.fixture
def address(small_run: cerec.Run) -> Iterator[str]:
    import uvicorn

    listener = listen(Address(port=0))
    listener.listen()
    app = http_app(small_run, PATIENT, Access(token="a-token-of-length-16"))
    server = uvicorn.Server(http_config(app, Limits()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"{url_of(listener)}mcp"
    server.should_exit = True
    thread.join(20)


def test_over_http_with_the_official_client(address: str, small_run: cerec.Run) -> None:
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    http = create_mcp_http_client(headers={"Authorization": "Bearer a-token-of-length-16"})
    item = small_run.recommend("u01", 1)[0].item
    tools, lists, why, *wrong = ask(
        streamable_http_client(address, http_client=http),
        [
            ("recommend", {"user": "u01", "k": 3}),
            ("explain", {"user": "u01", "item": item, "k": 5}),
            ("recommend", {"user": "nobody"}),
            ("explain", {"user": "u01", "item": item, "k": -1}),
            ("explain", {"user": "u01", "item": item, "by": "magic"}),
            ("no_such_tool", {}),
        ],
    )
    assert tools == TOOLS
    expected = [r.item for r in small_run.recommend("u01", 3)]
    assert [x["item"] for x in lists.structured_content["results"]] == expected
    assert why.structured_content["text"] == small_run.explain("u01", item, 5).text
    for answer, words in zip(wrong, ("'nobody'", "k", "by", "no_such_tool"), strict=True):
        assert answer.is_error
        assert words in answer.content[0].text
        assert "Traceback" not in answer.content[0].text


def test_http_asks_for_a_token_and_a_known_host(address: str) -> None:
    import httpx

    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream"}
    assert httpx.post(address, json=body, headers=headers).status_code == 401
    headers["Authorization"] = "Bearer a-token-of-length-16"
    found = httpx.post(address, json=body, headers=headers)
    assert found.status_code == 200
    evil = httpx.post(address, json=body, headers={**headers, "Host": "evil.example"})
    assert evil.status_code == 421
