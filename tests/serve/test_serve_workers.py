"""Several processes of one service: a dead one is replaced, and its watcher says how things are."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from cerec.runs.run import Run


def get(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def until(true: object, what: str) -> None:
    end = time.monotonic() + 120
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.2)


Served = tuple[subprocess.Popen[str], str, str]


@pytest.fixture
def served(small_run: Run, tmp_path: Path) -> Iterator[Served]:
    folder, port = small_run.save(tmp_path / "run"), free_port()
    more = ["--port", "0", "--workers", "2", "--health-port", str(port), "--no-log"]
    argv = [sys.executable, "-m", "cerec", "serve", str(folder), *more]
    environment = {**os.environ, "COLUMNS": "300"}
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr
        url = next(m[0] for line in server.stderr if (m := re.search(r"http://\S+/", line)))
        yield server, url, f"http://127.0.0.1:{port}/"
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


def children(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_dead_process_is_replaced(served: Served) -> None:
    server, url, health = served
    until(lambda: len(children(server.pid)) == 2, "no second process")
    assert get(health + "ready")[0] == 200
    assert get(health + "nothing")[0] == 404
    before = children(server.pid)
    os.kill(min(before), signal.SIGKILL)
    assert get(health + "health")[0] == 200
    until(lambda: len(children(server.pid) - {min(before)}) == 2, "not replaced")
    until(lambda: get(url + "v1/users?limit=1")[0] == 200, "no answer")
    counted = get(health + "metrics")[1]
    assert 'cerec_requests_total{method="GET",route="/v1/users",status="200"}' in counted


def test_a_run_that_cannot_be_opened_is_one_line(small_run: Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "run")
    (folder / "split.safetensors").write_bytes(b"x")
    argv = [sys.executable, "-m", "cerec", "serve", str(folder), "--port", "0"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if "first use" not in line]
    assert "split.safetensors: has 1 bytes" in " ".join(said)
    assert "Traceback" not in done.stderr
