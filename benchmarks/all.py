"""Runs every benchmark, one after the other (`make bench`); experiments pause meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cerec_bench.cells import measuring

HERE = Path(__file__).resolve().parent


def main() -> None:
    with measuring():
        for script in sorted(HERE.glob("bench_*.py")):
            print(f"== {script.name}", flush=True)
            if code := subprocess.run([sys.executable, str(script)]).returncode:
                raise SystemExit(code)


if __name__ == "__main__":
    main()
