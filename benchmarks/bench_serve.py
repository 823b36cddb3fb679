"""Requests a second of the service on loopback, against calling the run directly on one thread.

    python benchmarks/bench_serve.py                 # trains the demo, a few seconds of load each
    python benchmarks/bench_serve.py --run runs/ml-1m --seconds 10
    python benchmarks/bench_serve.py --soak 600      # ten minutes of mixed load, memory watched

Server and client share the machine. Each request is sent with a parameter of its own, so that none
is answered from the cache of answers; the last line shows what the cache does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import count, cycle
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import quote

import numpy as np

import cerec
from cerec.runs.run import Run

CONNECTIONS = 16


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


def _new(request: bytes, number: int) -> bytes:
    """The request with a parameter of its own, which the service does not look at."""
    line, _, rest = request.partition(b" HTTP/1.1")
    return line + (b"&" if b"?" in line else b"?") + b"n=%d HTTP/1.1" % number + rest


async def load(
    port: int,
    requests: list[bytes],
    seconds: float,
    connections: int = CONNECTIONS,
    *,
    known: bool = False,
) -> tuple[list[float], Counter[int]]:
    """Latencies of all answers within `seconds`, and how many there were of each status.

    With `known` questions come again as they were, so that most answers are kept ones.
    """
    numbers = count(random.randrange(1 << 40))
    times: list[float] = []
    statuses: Counter[int] = Counter()
    source = cycle(requests) if known else (_new(r, next(numbers)) for r in cycle(requests))
    end = time.perf_counter() + seconds

    async def client() -> None:
        while time.perf_counter() < end:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                while (start := time.perf_counter()) < end:
                    status = await ask(reader, writer, next(source))
                    statuses[status] += 1
                    if status == 200:
                        times.append(time.perf_counter() - start)
                    elif status == 429:
                        await asyncio.sleep(1)  # as Retry-After asks
                writer.close()
            except (OSError, asyncio.IncompleteReadError):
                statuses[0] += 1
                await asyncio.sleep(0.1)

    await asyncio.gather(*(client() for _ in range(connections)))
    return times, statuses


def probe(ports: list[int], seconds: float) -> list[float]:
    """The slowest answer of /health in milliseconds on each port, asked ten times a second."""
    slowest = [0.0] * len(ports)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for n, port in enumerate(ports):
            start = time.perf_counter()
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
                client.recv(4096)
            slowest[n] = max(slowest[n], 1e3 * (time.perf_counter() - start))
        time.sleep(0.1)
    return slowest


def burst(port: int, health: int, requests: list[bytes], seconds: float, clients: int) -> None:
    """Ten times as many clients as there are places, health asked meanwhile by another process."""
    steady, _ = asyncio.run(load(port, requests, seconds))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        probed = pool.submit(probe, [health, port], seconds)
        times, statuses = asyncio.run(load(port, requests, seconds, clients))
        slowest = probed.result()
    after, _ = asyncio.run(load(port, requests, seconds))
    p50, p99 = (1e3 * float(q) for q in np.quantile(times or [np.nan], [0.5, 0.99]))
    print(
        f"overload, {clients} clients: {len(times) / seconds:.0f} answers a second ("
        f"{len(times) / max(len(steady), 1):.0%} of {len(steady) / seconds:.0f} steady), "
        f"{statuses[429]} refused with 429, {statuses[0]} connections lost, "
        f"{statuses.total()} in all; p50 {p50:.0f} ms, p99 {p99:.0f} ms; "
        f"slowest /health {slowest[0]:.0f} ms on its own port, {slowest[1]:.0f} ms on the busy "
        f"one; afterwards {len(after) / seconds:.0f} a second"
    )


def family(pid: int) -> list[int]:
    """A process and those it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def memory(pid: int) -> float:
    """Resident MB of the service's processes, what they share counted once in each."""
    pages = [int(Path(f"/proc/{p}/statm").read_text().split()[1]) for p in family(pid)]
    return sum(pages) * 4096 / 1e6


def cpu_seconds(pid: int) -> float:
    """Processor time a service has used: what counts where other work shares the machine."""
    total = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def measure(port: int, pid: int, name: str, requests: list[bytes], seconds: float) -> str:
    """One line on the load of one kind."""
    before = cpu_seconds(pid)
    times, statuses = asyncio.run(load(port, requests, seconds))
    wrong = statuses.total() - len(times)
    cpu = 1e3 * (cpu_seconds(pid) - before) / max(len(times), 1)
    p50, p99 = (1e3 * float(q) for q in np.quantile(times, [0.5, 0.99]))
    return (
        f"{name:16} {len(times) / seconds:7.0f} a second  p50 {p50:5.1f} ms  p99 {p99:5.1f} ms  "
        f"{cpu:.2f} ms of processor each  {wrong} errors"
    )


def soak(port: int, pid: int, asked: dict[str, list[bytes]], seconds: float) -> None:
    """Mixed load in ten parts, the server's memory after each."""
    mixed = [r for rows in zip(*asked.values(), strict=False) for r in rows]
    for part in range(10):
        times, statuses = asyncio.run(load(port, mixed, seconds / 10))
        wrong = statuses.total() - len(times)
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
    parser.add_argument("--workers", type=int, default=2, help="processes of the service")
    parser.add_argument("--clients", type=int, default=1320, help="at once, in the overload")
    given = parser.parse_args()
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    with tempfile.TemporaryDirectory() as folder:
        run = cerec.open(given.run) if given.run else cerec.train(cerec.load("demo"), seed=0)
        place = given.run or str(run.save(Path(folder) / "run"))
        bare = direct(run)
        asked = questions(run)
        health = free_port()
        more = ["--port", "0", "--health-port", str(health), "--no-log"]
        more += ["--workers", str(given.workers)]
        server = subprocess.Popen(
            [sys.executable, "-m", "cerec", "serve", place, *more],
            stderr=subprocess.PIPE,
            text=True,
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
            times, _ = asyncio.run(
                load(port, asked["explanations"][:500], given.seconds, known=True)
            )
            print(f"kept answers     {len(times) / given.seconds:7.0f} a second")
            burst(port, health, asked["explanations"], 2 * given.seconds, given.clients)
            soak(port, server.pid, asked, given.soak)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


if __name__ == "__main__":
    main()
