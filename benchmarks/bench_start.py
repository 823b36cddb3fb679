"""How long a command takes to start, against `python -c pass`, and what `cerec.open` loads.

python benchmarks/bench_start.py [RUN]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
OPENED = """
import sys, time
start = time.perf_counter()
import cerec
run = cerec.open(sys.argv[1])
seconds = time.perf_counter() - start
ours = sum(name.partition(".")[0] == "cerec" for name in sys.modules)
heavy = [name for name in ("torch", "fastapi", "matplotlib", "cerec_bench") if name in sys.modules]
item = run.recommend(run.data.users[0])[0].item
print(f"{seconds:.2f} {ours} {','.join(heavy) or 'none'}", run.data.users[0], item, sep="\\t")
"""


def fastest(*argv: str) -> float:
    """Seconds of the fastest of some rounds; the first one fills the caches."""
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *argv], check=True, capture_output=True)
        found.append(time.perf_counter() - start)
    return min(found)


def demo_run(folder: Path) -> Path:
    """A short training of the demo."""
    few = ["--set", "train.epochs=6", "--set", "train.agent_epochs=2"]
    argv = [sys.executable, "-m", "cerec", "train", "demo", "--out", str(folder), *few]
    subprocess.run(argv, check=True, capture_output=True)
    return folder


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        run = sys.argv[1] if len(sys.argv) > 1 else str(demo_run(Path(made) / "run"))
        said = subprocess.run(
            [sys.executable, "-c", OPENED, run], check=True, capture_output=True, text=True
        )
        opened, user, item = said.stdout.strip().split("\t")
        seconds, ours, heavy = opened.split(" ")
        print(
            f"cerec.open: {seconds} s, {ours} modules of cerec; loaded of the heavy ones: {heavy}"
        )
        plain = fastest("-c", "pass")
        print(f"{'python -c pass':24}{plain:7.3f} s")
        for name, argv in {
            "cerec --help": ["--help"],
            "cerec --version": ["--version"],
            "cerec recommend": ["recommend", run, "--user", user],
            "cerec explain": ["explain", run, "--user", user, "--item", item],
        }.items():
            took = fastest("-m", "cerec", *argv)
            print(f"{name:24}{took:7.3f} s{took / plain:8.1f} x python -c pass")


if __name__ == "__main__":
    main()
