"""A real server: threads without races, a full queue, killed clients, SIGTERM during requests."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cerec.runs.run import Run
from cerec.serve.limits import Limits
from cerec.serve.service import Service
from live_server import listening

Answer = tuple[int, bytes]


def ask(url: str, path: str, body: object = None, connection: object = None) -> Answer:
    to = urlsplit(url)
    made = connection or http.client.HTTPConnection(str(to.hostname), to.port, timeout=60)
    assert isinstance(made, http.client.HTTPConnection)
    text = None if body is None else json.dumps(body)
    headers = {} if body is None else {"Content-Type": "application/json"}
    made.request("GET" if body is None else "POST", path, text, headers)
    answer = made.getresponse()
    found = answer.status, answer.read()
    if connection is None:
        made.close()
    return found


def wait_inside(url: str, n: int) -> None:
    """Until n questions are inside the gate, as the service itself tells."""
    end = time.monotonic() + 30
    while f"cerec_questions_inside {n:.1f}\n".encode() not in ask(url, "/metrics")[1]:
        assert time.monotonic() < end


class Slow(Service):
    """Facts are told only when allowed."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()

    def facts(self) -> dict[str, object]:
        self.begun.release()
        self.go_on.wait(30)
        return super().facts()


def test_threads_get_what_one_thread_gets(service: Service, small_run: Run) -> None:
    questions: list[tuple[str, object]] = []
    for user in small_run.data.users[:12]:
        questions.append((f"/v1/recommendations?user={user}&k=10", None))
        item = small_run.recommend(user, 10)[3].item
        questions.append(("/v1/explanation", {"user": user, "item": item, "k": 10}))
        attributes = small_run.attributes(item)[1:]
        questions.append(
            ("/v1/what-if", {"user": user, "item": item, "k": 10, "attributes": attributes})
        )
    with listening(service) as (url, _):
        alone = [ask(url, path, body) for path, body in questions]
        assert {status for status, _ in alone} == {200}
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda q: ask(url, *q), questions * 3))
    assert together == alone * 3


def test_a_full_queue_is_refused_and_nothing_is_lost(small_run: Run) -> None:
    slow = Slow(small_run)
    with (
        listening(slow, limits=Limits(threads=1, waiting=1)) as (url, _),
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(ask, url, "/v1/run")
        slow.begun.acquire(timeout=30)
        second = pool.submit(ask, url, "/v1/run")
        wait_inside(url, 2)
        status, body = ask(url, "/v1/users")
        assert status == 429
        assert json.loads(body)["title"] == "Too many requests"
        assert ask(url, "/ready")[0] == 503
        assert ask(url, "/health")[0] == 200
        slow.go_on.set()
        assert first.result(30)[0] == second.result(30)[0] == 200
        assert ask(url, "/v1/users")[0] == 200
        wait_inside(url, 0)


def test_a_killed_client_leaves_nothing_behind(small_run: Run) -> None:
    slow = Slow(small_run)
    with listening(slow, limits=Limits(threads=1, waiting=4)) as (url, _):
        to = urlsplit(url)
        for n in range(3):
            with socket.create_connection((str(to.hostname), int(to.port or 0))) as client:
                client.sendall(b"GET /v1/run HTTP/1.1\r\nHost: localhost\r\n\r\n")
                wait_inside(url, n + 1)
        slow.go_on.set()
        assert ask(url, "/v1/users")[0] == 200  # waits behind what the dead clients asked
        assert ask(url, "/v1/run")[0] == 200
        wait_inside(url, 0)


def test_a_slow_answer_ends_in_503(small_run: Run) -> None:
    slow = Slow(small_run)
    with listening(slow, limits=Limits(threads=2, seconds=0.05)) as (url, _):
        assert ask(url, "/v1/run")[0] == 503
        slow.go_on.set()


def test_sigterm_finishes_what_has_begun(small_run: Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "run")
    code = "import sys; from pathlib import Path; from cerec.cli.serve import serve; "
    code += "serve(Path(sys.argv[1]), port=0)"
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert server.stderr
    lines = iter(server.stderr.readline, "")
    url = next(m[0] for m in map(re.compile(r"http://\S+").search, lines) if m)
    threading.Thread(target=lambda: [None for _ in lines], daemon=True).start()  # keep it flowing
    user = small_run.data.users[0]
    item = small_run.recommend(user, 5)[2].item
    answered, begun = [], threading.Semaphore(0)

    def keep_asking() -> str:
        to = urlsplit(url)
        connection = http.client.HTTPConnection(str(to.hostname), to.port, timeout=60)
        while True:
            try:
                connection.connect()
            except OSError:
                return "refused"  # the listener is closed: nothing was accepted, nothing lost
            body = {"user": user, "item": item, "k": 5}
            try:
                answered.append(ask(url, "/v1/explanation", body, connection)[0])
            except (http.client.RemoteDisconnected, ConnectionError):
                return "never begun"  # in the backlog when the listener closed
            begun.release()
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(keep_asking) for _ in range(4)]
        for _ in range(8):
            begun.acquire(timeout=60)
        server.send_signal(signal.SIGTERM)
        ends = {c.result(60) for c in clients}  # an answer cut short would raise IncompleteRead
    assert ends <= {"refused", "never begun"}
    assert set(answered) == {200}
    assert server.wait(30) == 0


@pytest.mark.parametrize("raw", [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G" * 70_000])
def test_what_is_not_http_is_refused(service: Service, raw: bytes) -> None:
    with listening(service) as (url, _):
        to = urlsplit(url)
        with socket.create_connection((str(to.hostname), int(to.port or 0)), timeout=30) as client:
            try:
                client.sendall(raw)
                answer = client.recv(100)
            except ConnectionError:
                answer = b""
        assert answer == b"" or re.match(rb"HTTP/1.1 4\d\d", answer)
        assert ask(url, "/health")[0] == 200
