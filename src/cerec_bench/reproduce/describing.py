"""What is in the data: the figures of the paper's table I, before and after its filters."""

from __future__ import annotations

from cerec.data.check import check
from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import Table


def measure(job: Job) -> Table:
    """Figures of the data as it came and as it is learned from; what stands in two parts."""
    whole = check(job.library.whole(job.cell.set))
    leaks = {
        f.kind: {"pairs": f.count, "share": f.share}
        for f in whole.findings
        if f.kind in ("leak", "leak_valid")
    }
    learned = check(job.data)
    return {"came": whole.figures, "learned": learned.figures, "leaks": leaks}
