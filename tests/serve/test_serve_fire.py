"""What hostile, slow and hurried clients meet; raw sockets: nothing is tidied on the way."""

from __future__ import annotations

import json
import logging
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from test_serve_heads import connect, first_line
from test_serve_live import ask

from cerec.runs.run import Run
from cerec.runs.update import update
from cerec.serve.app import create_app
from cerec.serve.guard import Access
from cerec.serve.limits import Limits
from cerec.serve.service import Service
from cerec.serve.watch import Watched
from live_server import listening

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def closed(client: socket.socket) -> bool:
    try:
        return client.recv(100) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /he", GET, GET + b"Content-Length: 9\r\n\r\nabc"])
def test_a_client_that_sends_no_whole_request_is_closed(service: Service, sent: bytes) -> None:
    with listening(service, limits=Limits(read=0.3)) as (url, _), connect(url) as client:
        client.sendall(sent)
        start = time.monotonic()
        assert closed(client)
        assert time.monotonic() - start < 5
        assert ask(url, "/health")[0] == 200


def test_a_client_that_drips_is_closed(service: Service) -> None:
    with listening(service, limits=Limits(read=0.5)) as (url, _), connect(url) as client:
        sent = 0
        with suppress(ConnectionError):
            while sent < 400:
                client.sendall(b"X")
                sent += 1
                time.sleep(0.05)
        assert sent < 400


def test_a_further_request_has_its_own_time(service: Service) -> None:
    with listening(service, limits=Limits(read=0.5)) as (url, _), connect(url) as client:
        client.sendall(GET + b"\r\n")
        assert first_line(client).split()[1] == b"200"
        time.sleep(0.8)  # idle between two requests: kept
        client.sendall(GET)
        start = time.monotonic()
        while not closed(client):
            assert time.monotonic() - start < 5


def test_idle_connections_make_room(service: Service) -> None:
    with listening(service, limits=Limits(connections=20)) as (url, _):
        clients = [connect(url) for _ in range(60)]
        assert all(ask(url, "/health")[0] == 200 for _ in range(3))
        assert closed(clients[0])
        clients[-1].sendall(GET + b"\r\n")
        assert first_line(clients[-1]).split()[1] == b"200"
        for client in clients:
            client.close()


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"Host: localhost\r\nHost: localhost\r\n", b"400"),
        (b"Host: [::1].evil.com\r\n", b"421"),
        (b"Host: localhost:80:80\r\n", b"421"),
        (b"Host: [::1]:80\r\n", b"200"),
    ],
)
def test_host_headers(service: Service, lines: bytes, status: bytes) -> None:
    with listening(service) as (url, _), connect(url) as client:
        client.sendall(b"GET /health HTTP/1.1\r\n" + lines + b"\r\n")
        assert first_line(client).split()[1] == status


def test_head_is_get_without_its_body(service: Service) -> None:
    with listening(service) as (url, _), connect(url) as client:
        client.sendall(GET.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n")
        with client.makefile("rb") as answer:
            head, _, body = answer.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"content-length: 15" in head.lower()
    assert body == b""


def test_a_client_that_leaves_is_no_error(
    service: Service, small_run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    user = small_run.data.users[0]
    question = json.dumps({"user": user, "item": small_run.recommend(user, 1)[0].item}).encode()
    start = b"POST /v1/explanation HTTP/1.1\r\nHost: localhost\r\n"
    start += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(question)
    with listening(service) as (url, _):
        for sent in (start, start + question[:9], start + question, start + question + start):
            with connect(url) as client:
                client.sendall(sent)
        assert ask(url, "/health")[0] == 200
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


def test_equal_questions_are_answered_once(
    service: Service, small_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = service.users
    monkeypatch.setattr(service, "users", lambda *a: (asked.append(a[0]), real(*a))[1])
    with TestClient(create_app(service), base_url="http://localhost") as client:
        found = [client.get("/v1/users?q=u0&limit=2") for _ in range(3)]
        assert {f.content for f in found} == {found[0].content}
        client.get("/v1/users?q=u0&limit=3")
        assert asked == ["u0", "u0"]
        assert client.get("/v1/users?limit=0").status_code == 422
    few = Limits(kept=1)
    with TestClient(create_app(service, limits=few), base_url="http://localhost") as client:
        for _ in range(2):
            client.get("/v1/users?q=u0&limit=2")
    assert len(asked) == 4  # nothing is kept where there is no room


def test_a_new_version_forgets_the_answers(small_run: Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "run")
    watched = Watched(folder)
    user = small_run.data.users[0]
    with TestClient(create_app(watched), base_url="http://localhost") as client:  # type: ignore[arg-type]
        path = f"/v1/recommendations?user={user}&k=1"
        item = client.get(path).json()["results"][0]["item"]
        update(small_run, {"user": [user], "item": [item], "timestamp": [2_000_000_000]}).save(
            folder
        )
        assert watched.look()
        again = client.get(path)
        assert again.headers["cerec-run-version"] == "2"
        assert again.json()["results"][0]["item"] != item


def test_requests_have_an_id(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "cerec.access"):
        given = client.get("/health", headers={"X-Request-ID": "abc-1"})
        made = client.get("/health", headers={"X-Request-ID": 'no "words"'})
    assert given.headers["x-request-id"] == "abc-1"
    assert len(made.headers["x-request-id"]) == 16
    said = [r.said for r in caplog.records if hasattr(r, "said")]
    assert [s["request"] for s in said] == ["abc-1", made.headers["x-request-id"]]
    assert said[0]["path"] == "/health"


def test_truth_is_no_number(client: TestClient, pair: tuple[str, str]) -> None:
    question = {"user": pair[0], "item": pair[1], "k": True}
    assert client.post("/v1/explanation", json=question).status_code == 422


def test_the_description_says_how_to_identify_oneself(service: Service) -> None:
    token = "a-token-of-some-length"
    app = create_app(service, access=Access(token=token))
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/docs").status_code == 200
        headers = {"Authorization": f"Bearer {token}"}
        found = client.get("/openapi.json", headers=headers).json()
    assert found["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert found["security"] == [{"token": []}]
    assert found["paths"]["/health"]["get"]["security"] == []
