"""Requests a second of the service on loopback, against calling the run directly on one thread.

    python benchmarks/bench_serve.py                 # trains the demo, a few seconds of load each
    python benchmarks/bench_serve.py --run runs/ml-1m --seconds 10
    python benchmarks/bench_serve.py --soak 600      # ten minutes of mixed load, memory watched

Server and client share the machine. Users and items differ from request to request: nothing is
answered from a cache, for there is none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from urllib.parse import quote

import numpy as np

import cerec
from cerec.runs.run import Run

CONNECTIONS = 16
SERVER = """
import sys
from pathlib import Path
from cerec.cli.serve import serve
from cerec.threads import set_threads
set_threads()
serve(Path(sys.argv[1]), port=0, log_requests=False)
"""


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def post(path: str, question: dict[str, object]) -> bytes:
    body = json.dumps(question).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def questions(run: Run, k: int = 20) -> dict[str, list[bytes]]:
    """Requests of each kind, over many users."""
    users = run.data.users[:500]
    pairs = [(u, r.item) for u in users for r in run.recommend(u, k)[:5]]
    return {
        "recommendations": [get(f"/v1/recommendations?user={quote(u)}&k={k}") for u in users],
        "explanations": [post("/v1/explanation", {"user": u, "item": i, "k": k}) for u, i in pairs],
        "what-if": [
            post("/v1/what-if", {"user": u, "item": i, "attributes": run.attributes(i)[1:], "k": k})
            for u, i in pairs
        ],
    }


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Send one request on a kept connection; its status once the whole answer is here."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head[9:12])


async def load(port: int, requests: list[bytes], seconds: float) -> tuple[list[float], int]:
    """Latencies of all answers within `seconds`, and how many were not 200."""
    times: list[float] = []
    wrong = 0
    source = cycle(requests)
    end = time.perf_counter() + seconds

    async def client() -> None:
        nonlocal wrong
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (start := time.perf_counter()) < end:
            status = await ask(reader, writer, next(source))
            times.append(time.perf_counter() - start)
            wrong += status != 200
        writer.close()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return times, wrong


def memory(pid: int) -> float:
    """Resident MB of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used: what counts where other work shares the machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def direct(run: Run, k: int = 20, seconds: float = 2.0) -> dict[str, float]:
    """Calls a second without any service, one thread: the named alternative."""
    users = cycle(run.data.users[:500])
    pairs = cycle([(u, r.item) for u in run.data.users[:100] for r in run.recommend(u, k)[:5]])
    calls = {
        "recommendations": lambda: run.recommend(next(users), k),
        "explanations": lambda: run.explain(*next(pairs), k=k),
    }
    out = {}
    for name, call in calls.items():
        n, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            call()
            n += 1
        out[name] = n / (time.perf_counter() - start)
    return out


def measure(port: int, pid: int, name: str, requests: list[bytes], seconds: float) -> str:
    """One line on the load of one kind."""
    before = cpu_seconds(pid)
    times, wrong = asyncio.run(load(port, requests, seconds))
    cpu = 1e3 * (cpu_seconds(pid) - before) / len(times)
    p50, p99 = (1e3 * float(q) for q in np.quantile(times, [0.5, 0.99]))
    return (
        f"{name:16} {len(times) / seconds:7.0f} a second  p50 {p50:5.1f} ms  p99 {p99:5.1f} ms  "
        f"{cpu:.2f} ms of processor each  {wrong} errors"
    )


def soak(port: int, pid: int, asked: dict[str, list[bytes]], seconds: float) -> None:
    """Mixed load in ten parts, the server's memory after each."""
    mixed = [r for rows in zip(*asked.values(), strict=False) for r in rows]
    for part in range(10):
        times, wrong = asyncio.run(load(port, mixed, seconds / 10))
        print(
            f"  {(part + 1) * seconds / 10:5.0f} s  {len(times):7} answers  {wrong} errors"
            f"  {memory(pid):7.1f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", help="a run folder; the demo is trained otherwise")
    parser.add_argument("--seconds", type=float, default=5.0, help="of load for each kind")
    parser.add_argument("--soak", type=float, default=20.0, help="seconds of mixed load")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = cerec.open(given.run) if given.run else cerec.train(cerec.load("demo"), seed=0)
        place = given.run or str(run.save(Path(folder) / "run"))
        bare = direct(run)
        asked = questions(run)
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, place], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr
            found = next(
                m for line in server.stderr if (m := re.search(r"http://\S+:(\d+)/", line))
            )
            port = int(found[1])
            asyncio.run(load(port, asked["explanations"], 1.0))  # warm
            start = memory(server.pid)
            for name, requests in asked.items():
                line = measure(port, server.pid, name, requests, given.seconds)
                direct_ms = 1e3 / bare[name] if name in bare else None
                print(line + (f"; called directly {direct_ms:.2f} ms" if direct_ms else ""))
            print(f"memory {start:.1f} MB before, {memory(server.pid):.1f} MB after")
            soak(port, server.pid, asked, given.soak)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


if __name__ == "__main__":
    main()
