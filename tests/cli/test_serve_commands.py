"""`cerec serve` and `cerec report`: mistakes in one line, the report written."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from cerec.cli.serve import report, serve
from cerec.errors import ConfigError, RunError
from cerec.runs.run import Run


def test_importing_cerec_imports_no_web_packages() -> None:
    code = (
        "import sys, cerec, cerec.cli.serve, cerec.serve.report\n"
        "print([m for m in ('fastapi', 'uvicorn', 'starlette') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = importlib.util.find_spec

    def absent(name: str) -> object:
        return None if name == "uvicorn" else real(name)

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    with pytest.raises(ConfigError, match=r"needs uvicorn: pip install 'cerec\[serve\]'"):
        serve(tmp_path)


def test_beyond_loopback_without_token_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CEREC_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="token is required"):
        serve(tmp_path, host="0.0.0.0")
    with pytest.raises(ConfigError, match="cannot be read"):
        serve(tmp_path, token_file=tmp_path / "none")


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        serve(tmp_path, port=0)


def test_report_is_written(small_run: Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "run")
    report(folder, tmp_path / "out" / "report.html", users=1, items=1, k=5)
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!doctype html>")


def test_serve_opens_the_run_and_hands_it_over(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cerec.serve import workers

    seen: dict[str, object] = {}

    def stand_in(plan: workers.Plan, **more: object) -> int:
        seen.update(plan=plan, **more)
        return 0

    monkeypatch.setattr(workers, "serve", stand_in)
    token = tmp_path / "token"
    token.write_text("a-token-of-some-length\n")
    serve(small_run.save(tmp_path / "run"), port=0, token_file=token, workers=1, waiting=3)
    plan = seen["plan"]
    assert isinstance(plan, workers.Plan)
    assert plan.address.token == "a-token-of-some-length"
    assert "a-token" not in plan.to_json()  # the command line of a process is no secret
    assert (seen["workers"], plan.limits.waiting) == (1, 3)
