"""The command's edges: version, help, one line for a mistake."""

from __future__ import annotations

import errno
import re
import signal
import subprocess
import sys

import pytest
import typer

from cerec import __version__
from cerec.cli import main as cli
from cerec.cli.app import COMMANDS, app


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[:2] == (0, f"cerec {__version__}\n")


def test_help_starts_with_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "cerec demo" in out
    assert len(out.splitlines()) <= 50


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_first_words_of_each(name: str) -> None:
    home, short = COMMANDS[name]
    command = typer.main.get_command(app).get_command(None, name)
    assert command.name == name
    assert " ".join(command.help.partition("\n\n")[0].split()) == short
    assert bool(home) == (name != "bench")  # which comes by an entry point


def test_a_command_that_is_not_installed_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cerec.cli.app.GROUP", "nobody.offers")
    code, _, err = run(capsys, "bench", "compare", "demo")
    assert (code, err) == (2, "cerec: cerec bench is not installed; pip install 'cerec[bench]'\n")


def test_help_imports_no_command() -> None:
    heavy = "('numpy', 'numba', 'polars', 'fastapi', 'torch', 'pydantic', 'cerec.cli.train')"
    code = f"""
import sys
from cerec.cli.app import run
run(["--help"])
print([name for name in {heavy} if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["", "train", "explain", "data check", "bench compare"])
def test_help_shows_values_as_usual(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    code, out, _ = run(capsys, *command.split(), "-h")
    assert code == 0
    options = out[out.index("Options") :]
    assert not re.search(r"<(bool|str|int|float|path|list)", options)
    assert re.search(r"--help +-h +Show this message", options)
    if command == "train":
        assert re.search(r"--set +TEXT +One setting", options)
        assert re.search(r"--seed +INTEGER \[x>=0\] ", options)
        assert re.search(r"--resume +Continue", options)


def test_a_wrong_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--hepl")
    assert code == 2
    assert err.count("\n") == 1
    assert "--hepl" in err


def test_what_the_disk_refuses_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "a/file")

    monkeypatch.setattr("cerec.cli.settings.to_table", full)
    assert run(capsys, "settings") == (2, "", "cerec: a/file: No space left on device\n")


def test_an_interrupt_of_a_command_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    for where in ("cerec.cli.settings.to_table", "cerec.cli.app.set_threads"):
        with monkeypatch.context() as patch:
            patch.setattr(where, interrupted)
            assert run(capsys, "settings") == (130, "", "cerec: stopped\n")


@pytest.mark.parametrize("module", ["cerec", "cerec.cli.main"])
def test_an_interrupt_while_importing_is_one_line(module: str) -> None:
    argv = [sys.executable, "-X", "importtime", "-m", module, "recommend", "--help"]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "numpy" in line:  # within the imports of the commands
            process.send_signal(signal.SIGINT)
            break
    rest = [line for line in process.stderr if not line.startswith("import time:")]
    assert process.wait() == 130
    assert rest == ["cerec: stopped\n"]
