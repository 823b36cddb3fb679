"""Runs benchmarks and keeps what they print, for docs/results/speed.md.

    python benchmarks/record.py --data FOLDER --run RUN            # all: a quarter of an hour
    python benchmarks/record.py --data FOLDER --run RUN topk read  # some of them

FOLDER holds last-fm and ml-1m, RUN is a run of ml-1m. Each output goes to
results/speed/NAME.txt, below a line on how and when it was made: the load says how quiet the
machine was.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

from cerec_bench.cells import measuring

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "results" / "speed"
COMMANDS = {
    "cotrain": "bench_cotrain.py",
    "cotrain-ml-1m": "bench_cotrain.py --folder FOLDER/ml-1m",
    "epoch": "bench_epoch.py --shape ml-1m",
    "sampler": "bench_sampler.py",
    "topk": "bench_topk.py --users 23566 --rounds 2",
    "compared": "bench_compared.py",
    "growth": "bench_growth.py --most 8",
    "read": "bench_read.py FOLDER/last-fm",
    "serving": "bench_serve.py --run RUN --seconds 5 --soak 60",
}


def record(name: str, data: Path, run: Path) -> None:
    """Run one benchmark; its output appears as it comes, and is kept when it ends well."""
    command = COMMANDS[name]
    real = command.replace("FOLDER", str(data)).replace("RUN", str(run))
    before = os.getloadavg()[0]
    lines = [f"$ python benchmarks/{command}"]
    with subprocess.Popen(
        [sys.executable, *shlex.split(real)], cwd=HERE, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line.rstrip().replace(str(data), "FOLDER").replace(str(run), "RUN"))
    if process.returncode:
        raise SystemExit(f"{command} failed")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    lines.append(
        f"# {datetime.date.today()}, commit {commit}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, load {before:.1f} before and {os.getloadavg()[0]:.1f} after"
    )
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*COMMANDS, []], help="default: all")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--run", type=Path, required=True)
    args = parser.parse_args()
    for name in args.names or COMMANDS:
        with measuring():
            record(name, args.data.resolve(), args.run.resolve())


if __name__ == "__main__":
    main()
