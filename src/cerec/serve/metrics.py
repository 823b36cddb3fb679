"""Counts and times of requests, as prometheus_client writes them."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as written
from prometheus_client.process_collector import ProcessCollector

from cerec.serve.limits import Gate

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """What the service has done so far.

    Labels are the route's pattern, the method and the status: their number is bounded, whatever
    clients send.
    """

    def __init__(self, gate: Gate) -> None:
        self._registry = CollectorRegistry()
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
            gauge = Gauge(f"cerec_questions_{name}", what, registry=self._registry)
            gauge.set_function(lambda name=name: float(getattr(gate, name)))  # type: ignore[misc]
        ProcessCollector(registry=self._registry)  # type: ignore[no-untyped-call]

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def render(self) -> bytes:
        """All numbers in the Prometheus text format."""
        return written(self._registry)
