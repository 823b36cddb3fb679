"""Counts and times of requests in the Prometheus text format."""

from __future__ import annotations

import resource
import sys
import time
from bisect import bisect_left
from collections import defaultdict

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What the service has done so far. Touched by the event loop alone, so it needs no lock.

    Labels are the route's pattern, the method and the status: their number is bounded, whatever
    clients send.
    """

    def __init__(self) -> None:
        self.started = time.time()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests[method, route, status] += 1
        self._buckets[route][bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds

    def render(self, gauges: dict[str, float]) -> str:
        """All numbers as text; `gauges` are added under `cerec_` names."""
        lines = ["# TYPE cerec_requests_total counter"]
        for (method, route, status), n in sorted(self._requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"cerec_requests_total{{{labels}}} {n}")
        lines.append("# TYPE cerec_request_seconds histogram")
        for route in sorted(self._buckets):
            lines += self._histogram(route)
        own = {
            "uptime_seconds": time.time() - self.started,
            "memory_peak_bytes": float(_peak_memory()),
        }
        for name, value in {**gauges, **own}.items():
            lines += [f"# TYPE cerec_{name} gauge", f"cerec_{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str) -> list[str]:
        lines, total = [], 0
        for bound, n in zip([*map(str, BUCKETS), "+Inf"], self._buckets[route], strict=True):
            total += n
            labels = f'route="{route}",le="{bound}"'
            lines.append(f"cerec_request_seconds_bucket{{{labels}}} {total}")
        lines.append(f'cerec_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
        lines.append(f'cerec_request_seconds_count{{route="{route}"}} {total}')
        return lines


def _peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
