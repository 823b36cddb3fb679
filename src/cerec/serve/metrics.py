"""Counts and times of requests, as prometheus_client writes them."""

from __future__ import annotations

import os

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as written
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector

from cerec.serve.gate import Gate

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = CONTENT_TYPE_LATEST
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder, where there are several processes."""


class Metrics:
    """What the service has done so far.

    Labels are the route's pattern, the method and the status: their number is bounded, whatever
    clients send.
    """

    def __init__(self, gate: Gate) -> None:
        self._registry, self._gate = CollectorRegistry(), gate
        self._gauges: dict[str, Gauge] = {}
        labels = ("method", "route", "status")
        self._requests = Counter(
            "cerec_requests", "Answered requests", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "cerec_request_seconds",
            "Seconds until the answer",
            ("route",),
            buckets=BUCKETS,
            registry=self._registry,
        )
        for name, what in (
            ("inside", "Questions at work or waiting"),
            ("places", "Questions that may be at work or waiting"),
            ("refused", "Questions refused because all places were taken"),
        ):
            gauge = Gauge(
                f"cerec_questions_{name}",
                what,
                registry=self._registry,
                multiprocess_mode="livesum",  # over the processes that live
            )
            self._gauges[name] = gauge
        ProcessCollector(registry=self._registry)  # type: ignore[no-untyped-call]

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests.labels(method, route, str(status)).inc()
        self.look()
        self._seconds.labels(route).observe(seconds)

    def look(self) -> None:
        """Take over how full the gate is."""
        for name, gauge in self._gauges.items():
            gauge.set(getattr(self._gate, name))

    def render(self) -> bytes:
        """All numbers in the Prometheus text format; of all processes that share a service."""
        self.look()
        return rendered() if FOLDER in os.environ else written(self._registry)


def rendered() -> bytes:
    """The numbers that the processes of a service have written to their common folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return written(registry)
