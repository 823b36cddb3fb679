"""`cerec serve`, `cerec report`."""

from __future__ import annotations

import importlib.util
import os
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import RunFolder, named
from cerec.cli.console import remark, tell_compiling
from cerec.errors import ConfigError
from cerec.files import refuse_folder
from cerec.runs.folder import read_facts
from cerec.runs.run import open_run
from cerec.serve.limits import Limits
from cerec.threads import cores

_NEEDED = ("fastapi", "uvicorn")


def serve(
    run: RunFolder,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8000,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the bearer token (or set CEREC_TOKEN); needed off loopback."),
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="Origin of another page that may ask; repeatable.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes that answer; one a core, four at most.", min=1)
    ] = None,
    waiting: Annotated[
        int, typer.Option(help="Requests that may wait in a process before 429.")
    ] = Limits().waiting,
    health_port: Annotated[
        int | None, typer.Option(help="Port for /health, /ready and /metrics that is never busy.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Take up new versions of the run, as of cerec update.")
    ] = False,
    log_requests: Annotated[
        bool, typer.Option("--log/--no-log", help="Write a line for every request to stderr.")
    ] = True,
) -> None:
    """Serve a run: the studio page, and the same answers as a REST service.

    Example: cerec serve runs/demo --open
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(f"serving needs {' and '.join(missing)}: pip install 'cerec[serve]'")
    if os.name == "nt":
        raise ConfigError("serving needs Linux or macOS, whose processes can share a socket")
    from cerec.serve import workers as processes
    from cerec.serve.server import Address

    plan = processes.Plan(
        run=str(run),
        address=Address(host=host, port=port, token=_token(token_file), origins=tuple(cors or ())),
        limits=Limits(waiting=waiting),
        watch=watch,
        log=log_requests,
    )
    read_facts(run)
    tell_compiling()

    def started(url: str) -> None:
        remark(f"serving {run} on {url} (stop with Ctrl-C)")
        if open_page:
            webbrowser.open(url)

    count = workers or min(cores(), 4)
    code = processes.serve(plan, workers=count, health_port=health_port, started=started)
    if code:
        raise typer.Exit(code)


def mcp(
    run: RunFolder,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP at /mcp instead of stdio.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port, with --http; 0 takes a free one.")] = 8001,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the bearer token (or set CEREC_TOKEN); needed off loopback."),
    ] = None,
) -> None:
    """Offer a run's answers to assistants as tools of the Model Context Protocol.

    Example: cerec mcp runs/demo
    """
    if importlib.util.find_spec("mcp") is None:
        raise ConfigError("this needs the package mcp: pip install 'cerec[mcp]'")
    from cerec.serve.guard import Access, is_loopback
    from cerec.serve.mcp import http_app, serve_stdio
    from cerec.serve.server import Address, listen, run_app, url_of

    limits = Limits()
    address = Address(host=host, port=port, token=_token(token_file))
    if not http:
        serve_stdio(open_run(run), limits)
        return
    listener = listen(address)
    who = Access(token=address.token, loopback_only=is_loopback(host))
    app = http_app(open_run(run), limits, who)
    remark(f"serving {run} on {url_of(listener)}mcp (stop with Ctrl-C)")
    run_app(app, listener, limits)


def report(
    run: RunFolder,
    out_file: Annotated[
        Path, typer.Option("--out", parser=named, metavar="PATH", help="The HTML file.")
    ] = Path("report.html"),
    users: Annotated[int, typer.Option(help="People to explain.", min=0, max=50)] = 3,
    items: Annotated[int, typer.Option(help="Items explained for each.", min=1, max=50)] = 4,
    k: Annotated[int, typer.Option("-k", help="Length of the lists.", min=1, max=200)] = 20,
) -> None:
    """Write the run and a few explained people as one HTML file to mail.

    Example: cerec report runs/demo --out report.html
    """
    from cerec.serve.report import write_report

    refuse_folder(out_file)
    tell_compiling()
    path = write_report(open_run(run), out_file, users=users, items=items, k=k)
    remark(f"wrote {path} ({path.stat().st_size / 1024:,.0f} kB)")


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get("CEREC_TOKEN") or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: the token cannot be read: {error}") from None
