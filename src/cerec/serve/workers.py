"""Several processes that answer, and one that watches over them and says how they are.

All share one bound socket, and the run's arrays through the system's cache of the disk. The
watching process answers no question, so it says how the service is however busy that is.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from cerec.errors import CerecError
from cerec.serve.limits import Limits
from cerec.serve.metrics import CONTENT_TYPE, FOLDER, rendered
from cerec.serve.server import STOP_SECONDS, Address, listen, run_app, url_of

_BEAT = 0.25
_SILENT = 60.0  # seconds after which a worker that has answered before counts as stuck
_PAUSE = 1.0  # seconds before a worker that died is replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker is to do."""

    run: str
    address: Address
    limits: Limits
    watch: bool = False
    log: bool = True

    def to_json(self) -> str:
        """As text for the worker's command line; the token goes by the environment."""
        address = {**asdict(self.address), "token": None, "host": "127.0.0.1"}
        real = {"host": self.address.host}
        return json.dumps({**asdict(self), "address": address, **real})


def work(text: str, listener: int, status: int) -> None:
    """One worker: open the run and answer until told to stop, or until nobody watches any more."""
    from cerec.runs.run import open_run
    from cerec.serve.app import create_app
    from cerec.serve.guard import Access, is_loopback
    from cerec.serve.logs import log_to_stderr
    from cerec.serve.service import Service
    from cerec.serve.watch import Watched
    from cerec.threads import set_threads

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # until there is something to finish
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # more than connections are allowed
    set_threads()
    plan = json.loads(text)
    limits = Limits(**plan["limits"])
    log_to_stderr(plan["log"])
    folder = Path(plan["run"])
    service: Any = Watched(folder) if plan["watch"] else Service(open_run(folder))
    if plan["watch"]:
        service.start()
    access = Access(
        token=os.environ.get("CEREC_TOKEN") or None,
        loopback_only=is_loopback(plan["host"]),
        origins=tuple(plan["address"]["origins"]),
    )
    app = create_app(service, limits=limits, access=access)

    async def beat() -> None:
        while True:
            app.state.metrics.look()
            try:
                os.write(status, b"f" if app.state.gate.full else b"r")
            except OSError:  # nobody watches: the service has been killed
                os._exit(1)
            await asyncio.sleep(_BEAT)

    run_app(app, socket.socket(fileno=listener), limits, beside=beat)


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    status: int
    """Where its beats are read."""
    heard: float | None = None
    """When it was last heard of; None before it was ready."""
    full: bool = False
    born: float = field(default_factory=time.monotonic)


class Workers:
    """The processes of a service."""

    def __init__(self, plan: Plan, count: int, listener: socket.socket) -> None:
        self._plan, self._listener = plan, listener
        self._stop = threading.Event()
        self._metrics = tempfile.TemporaryDirectory(prefix="cerec-metrics-")
        self._environment = {**os.environ, FOLDER: self._metrics.name}
        self._environment["CEREC_TOKEN"] = plan.address.token or ""
        self._count = count
        self._workers = [self._begin()]  # one says what is wrong, and compiles what all need

    @property
    def alive(self) -> bool:
        """Whether somebody is there to answer."""
        return any(w.process.poll() is None for w in self._workers)

    @property
    def ready(self) -> bool:
        """Whether somebody can take a question now."""
        recent = time.monotonic() - 10
        return any(w.heard and w.heard > recent and not w.full for w in list(self._workers))

    def metrics(self) -> bytes:
        """The numbers of all workers."""
        os.environ[FOLDER] = self._metrics.name
        return rendered()

    def _begin(self) -> _Worker:
        heard, said = os.pipe()
        handles = (self._listener.fileno(), said)
        numbers = ", ".join(map(str, handles))
        code = f"import sys; from cerec.serve.workers import begin; begin(sys.argv[1], {numbers})"
        process = subprocess.Popen(
            [sys.executable, "-c", code, self._plan.to_json()],
            pass_fds=handles,
            env=self._environment,
            stdin=subprocess.DEVNULL,
        )
        os.close(said)
        return _Worker(process, heard)

    def run(self, ready: Callable[[], None]) -> int:
        """Keep the workers at work until SIGINT or SIGTERM; the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._stop.set())
        told, code = False, 0
        while not self._stop.is_set() and not code:
            self._listen(_BEAT)
            if not told and self.ready:
                told = True
                self._workers += [self._begin() for _ in range(self._count - 1)]
                ready()
            for worker in self._workers:
                code = code or self._look_after(worker)
        self._end()
        return code

    def _listen(self, seconds: float) -> None:
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.status, selectors.EVENT_READ, worker)
            for key, _ in selector.select(seconds):
                worker, beats = key.data, os.read(key.fd, 4096)
                if beats:
                    worker.heard, worker.full = time.monotonic(), beats.endswith(b"f")
                else:
                    time.sleep(_BEAT)  # it has ended

    def _look_after(self, worker: _Worker) -> int:
        """Replace a worker that died; 2 for one that never was ready."""
        if worker.heard is not None and time.monotonic() - worker.heard > _SILENT:
            worker.process.kill()
            worker.process.wait()
        if worker.process.poll() is None:
            return 0
        if worker.heard is None:
            return 2
        self._stop.wait(_PAUSE)
        os.close(worker.status)
        mark_process_dead(worker.process.pid, self._metrics.name)  # type: ignore[no-untyped-call]
        if not self._stop.is_set():
            self._workers[self._workers.index(worker)] = self._begin()
        return 0

    def _end(self) -> None:
        """Ask all to finish, and end those that do not."""
        self._listener.close()
        for worker in self._workers:
            with suppress(OSError):
                worker.process.terminate()
        end = time.monotonic() + STOP_SECONDS + 5
        for worker in self._workers:
            try:
                worker.process.wait(max(end - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                worker.process.kill()
        self._metrics.cleanup()


def begin(text: str, listener: int, status: int) -> None:
    """`work`, a mistake said in one line."""
    try:
        work(text, listener, status)
    except CerecError as error:
        sys.stderr.write(f"cerec: {error}\n")
        sys.exit(2)


def serve(
    plan: Plan,
    *,
    workers: int,
    health_port: int | None = None,
    started: Callable[[str], None] = lambda _url: None,
) -> int:
    """Serve a run until SIGINT or SIGTERM, then finish what has begun; the exit code.

    With `health_port` the watching process answers /health, /ready and /metrics there.
    """
    listener = listen(plan.address)
    url = url_of(listener)
    listener.listen(2048)
    watched = Workers(plan, workers, listener)
    if health_port is not None:
        _answer_health(watched, plan.address.host, health_port)
    return watched.run(lambda: started(url))


def _answer_health(workers: Workers, host: str, port: int) -> None:
    class Health(BaseHTTPRequestHandler):
        timeout = 5  # seconds for a slow client

        def do_GET(self) -> None:
            """How the service is."""
            states = {"/health": workers.alive, "/ready": workers.ready, "/metrics": True}
            good = states.get(self.path)
            metrics = self.path == "/metrics"
            body = workers.metrics() if metrics else json.dumps({"ok": bool(good)}).encode()
            self.send_response(404 if good is None else 200 if good else 503)
            self.send_header("Content-Type", CONTENT_TYPE if metrics else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: probes come every second."""

    with listen(Address(host="127.0.0.1", port=port)) as probe:  # one line where it is taken
        port = probe.getsockname()[1]
    server = ThreadingHTTPServer((host, port), Health)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="cerec-health", daemon=True).start()
