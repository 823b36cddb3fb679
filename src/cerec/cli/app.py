"""The commands together: every mistake ends in one line on stderr and exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cerec import __version__
from cerec.cli.console import err
from cerec.cli.data import app as data_app
from cerec.cli.demo import demo
from cerec.cli.doctor import doctor
from cerec.cli.evaluate import evaluate
from cerec.cli.explain import explain, what_if
from cerec.cli.recommend import recommend
from cerec.cli.serve import report, serve
from cerec.cli.settings import settings
from cerec.cli.train import train
from cerec.errors import CerecError
from cerec.interrupts import of_interrupt
from cerec.threads import set_threads
from cerec_bench.cli.compare import compare
from cerec_bench.cli.explanations import compare_explanations
from cerec_bench.cli.reproduce import reproduce

UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer may carry its own click

HELP = """Counterfactual explanations for recommender systems: verified, smallest, on a CPU.

Start with [bold]cerec demo[/bold]: it generates a small world, trains, and explains a list.
Then: cerec train FOLDER --out RUN; cerec explain RUN --user U --item I; cerec serve RUN.
"""
HELP_NAMES = ["-h", "--help"]


class Stopped(Exception):
    """An interrupt of a command, in words of its own; typer leaves in silence at the usual one."""


class Commands(TyperGroup):
    """The commands, whose interrupts come out as `Stopped`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise Stopped(str(interrupt)) from interrupt


app = typer.Typer(
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_NAMES},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"cerec {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001  typer calls _version for it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    set_threads()


app.command()(demo)
app.add_typer(data_app, name="data")
app.command()(settings)
app.command()(train)
app.command()(recommend)
app.command()(explain)
app.command("what-if")(what_if)
app.command()(evaluate)
app.command()(compare)
app.command()(reproduce)
app.command("compare-explanations")(compare_explanations)
app.command()(serve)
app.command()(report)
app.command()(doctor)


def _say(text: str) -> None:
    err.print("cerec: " + " ".join(line.strip() for line in text.splitlines()), soft_wrap=True)


def _given(error: Exception) -> str:
    """`, got VALUE` where typer's own check of a value failed, whose words do not hold it."""
    found = getattr(error.__cause__, "errors", None)
    return f", got {found()[0]['input']!r}" if found else ""


_SHOWN = {"str": "TEXT", "list[str]": "TEXT", "int": "INTEGER", "float": "FLOAT", "path": "PATH"}


def _usual(command: Any) -> Any:
    """The command, its --help with the usual words for values, and none behind a flag."""
    context = command.context_class(command, help_option_names=HELP_NAMES)
    for param in command.get_params(context):
        if param.param_type_name == "option" and param.metavar is None:
            kind = getattr(param, "display_type", lambda _: "")(context)  # typer's of late: <str>
            param.metavar = "" if kind == "<bool>" else _SHOWN.get(kind[1:-1].split(" ")[0])
    for part in getattr(command, "commands", {}).values():
        _usual(part)
    return command


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        code = _usual(typer.main.get_command(app)).main(
            args=None if argv is None else list(argv), prog_name="cerec", standalone_mode=False
        )
    except CerecError as error:
        _say(str(error))
        code = 2
    except UsageError as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "cerec"
        words = error.format_message()  # type: ignore[attr-defined]
        _say(f"{words}{_given(error)} (see '{path} --help')")
        code = 2
    except MemoryError as error:
        _say(f"not enough memory: {error}" if str(error) else "not enough memory")
        code = 2
    except BrokenPipeError:
        sys.stderr.close()
        code = 141
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        code = 2
    except (Stopped, KeyboardInterrupt, typer.Abort) as stop:
        _say(f"stopped; {stop}" if str(stop) else "stopped")
        code = 130
    except SystemError as error:
        if not of_interrupt(error):
            raise
        _say("stopped")
        code = 130
    return code if isinstance(code, int) else 0
