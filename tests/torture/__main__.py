"""Faults on purpose: kills and failing disks at every file operation, damaged files, raw sockets.

    make torture                                # five minutes, as CI does
    python -m torture --minutes 60 --seed 1     # in the folder tests

Every command is run in a forked child under a shim (`shim.c`) that counts what reaches the disk.
The child is killed (or meets a full or a read-only disk) at one operation after another. Then the
command is run once more, and what it leaves must be equal, byte for byte, to an undisturbed run.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from torture import damage, kills, sockets


def main() -> int:
    """Counts of all that was tried; 1 where something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["kills", "damage", "sockets"])
    given = parser.parse_args()
    start, seconds = time.monotonic(), given.minutes * 60
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    parts = {"kills": (kills.run, 0.6), "damage": (damage.run, 0.85), "sockets": (sockets.run, 1.0)}
    folder = Path(tempfile.mkdtemp(prefix="cerec-torture-"))
    try:
        for name, (run, share) in parts.items():
            if given.only in (None, name):
                end = start + seconds * (1.0 if given.only else share)
                rng = random.Random(f"{given.seed}:{name}")
                (folder / name).mkdir()
                run(folder / name, rng, end, counts, wrong)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [f"{what:58} {n:>9,}" for what, n in sorted(counts.items())]
    took = f"{time.monotonic() - start:.0f} s, seed {given.seed}, {len(wrong)} wrong"
    sys.stdout.write("\n".join([*lines, *wrong[:40], took]) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
