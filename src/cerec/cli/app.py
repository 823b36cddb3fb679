"""The commands together: every mistake ends in one line on stderr and exit code 2."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cerec import __version__
from cerec.cli.console import err
from cerec.errors import CerecError, ConfigError
from cerec.shutdown import leaving_at_once, of_interrupt
from cerec.threads import set_threads

UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer may carry its own click

HELP = """Counterfactual explanations for recommender systems: verified, smallest, on a CPU.

Start with [bold]cerec demo[/bold]: it generates a small world, trains, and explains a list.
Then: cerec train FOLDER --out RUN; cerec explain RUN --user U --item I; cerec serve RUN.
"""
HELP_NAMES = ["-h", "--help"]
GROUP = "cerec.commands"
COMMANDS = {
    "demo": (
        "cerec.cli.demo:demo",
        "Generate a small world, train on it, and explain one user's list.",
    ),
    "data": ("cerec.cli.data:app", "Check, make and split data."),
    "settings": (
        "cerec.cli.settings:settings",
        "Print every setting with its meaning and default, as TOML.",
    ),
    "train": (
        "cerec.cli.train:train",
        "Train a recommender: the readable default, or the paper's system.",
    ),
    "update": (
        "cerec.cli.update:update",
        "Take up new interactions, users and items in a run, or forget a user.",
    ),
    "recommend": (
        "cerec.cli.recommend:recommend",
        "Print or write lists: the best items that are not in the user's train part.",
    ),
    "explain": (
        "cerec.cli.explain:explain",
        "Say which smallest change would take an item out of a list, or bring one in.",
    ),
    "what-if": (
        "cerec.cli.explain:what_if",
        "Show score, rank and list had an item other attributes.",
    ),
    "audit": (
        "cerec.cli.audit:audit",
        "What the order of all lists depends on; or, with --attribute, whether one relation "
        "decides.",
    ),
    "diff": ("cerec.cli.audit:diff", "How the lists of two runs differ, and why each item moved."),
    "evaluate": (
        "cerec.cli.evaluate:evaluate",
        "Recall, NDCG, HR, precision, MRR and MAP on a held-out part, known items masked.",
    ),
    "serve": (
        "cerec.cli.serve:serve",
        "Serve a run: the studio page, and the same answers as a REST service.",
    ),
    "mcp": (
        "cerec.cli.serve:mcp",
        "Offer a run's answers to assistants as tools of the Model Context Protocol.",
    ),
    "report": (
        "cerec.cli.serve:report",
        "Write the run and a few explained people as one HTML file to mail.",
    ),
    "doctor": (
        "cerec.cli.doctor:doctor",
        "Show versions, threads, memory, optional parts; run a self-test; or check a run folder.",
    ),
    "bench": ("", "Compare systems and explainers; the paper's tables and figures."),
}
"""Name -> where a command is, and what it does. Those of no place come by an entry point."""


class Stopped(Exception):
    """An interrupt of a command, in words of its own; typer leaves in silence at the usual one."""


class Commands(TyperGroup):
    """The commands, each imported when it is asked for; interrupts come out as `Stopped`."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of that name; of its help alone while all are listed."""
        home, short = COMMANDS.get(cmd_name, ("", ""))
        if self._listing:
            return TyperCommand(cmd_name, help=short)
        with leaving_at_once():
            found = _own(home) if home else _of_package(cmd_name)
        return found and _usual(_made(cmd_name, found))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of all commands, none of which is imported for it."""
        self._listing = True
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise Stopped(str(interrupt)) from interrupt


def _own(home: str) -> Any:
    module, _, name = home.partition(":")
    found = getattr(import_module(module), name)
    gc.freeze()
    gc.enable()
    return found


def _of_package(name: str) -> Any:
    """A command that another package offers by an entry point; None where there is none."""
    from importlib.metadata import entry_points  # itself slow to import

    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found and name not in COMMANDS:
        return None
    try:
        return found[0].load()
    except (ImportError, IndexError) as error:
        reason = f" ({error})" if found else ""
        raise ConfigError(
            f"cerec {name} is not installed{reason}; pip install 'cerec[{name}]'"
        ) from None


def _made(name: str, found: Any) -> Any:
    """What typer makes of a function, or of several in an app of their own."""
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


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
