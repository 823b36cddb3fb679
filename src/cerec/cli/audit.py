"""`cerec audit` and `cerec diff`: the whole recommender, and two of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cerec.asides import lock_file
from cerec.cli.arguments import Json, RunFolder, named
from cerec.cli.console import out, print_json, progress, remark
from cerec.errors import ConfigError
from cerec.files import replacing, write_json
from cerec.runs.run import open_run

if TYPE_CHECKING:
    from cerec.audit.plain import Page

Pages = dict[str, tuple[str, "Page"]]
Length = Annotated[int, typer.Option("-k", "--k", help="Length of the lists.")]
Least = Annotated[int, typer.Option(help="Users that a group must have to be shown.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", parser=named, metavar="DIR", help="A folder for the page and the figures."
    ),
]


def audit(
    run_folder: RunFolder,
    attribute: Annotated[
        list[str] | None,
        typer.Option(metavar="RELATION", help="Put this relation on trial instead. Repeatable."),
    ] = None,
    k: Length = 20,
    sample: Annotated[int | None, typer.Option(help="So many users instead of all.")] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of the users' table (default: all)."),
    ] = None,
    items_by: Annotated[
        list[str] | None,
        typer.Option(metavar="RELATION", help="A relation whose values group the items."),
    ] = None,
    least: Least = 20,
    out_folder: Out = None,
    json: Json = False,
) -> None:
    """What the order of all lists depends on; or, with --attribute, whether one relation decides.

    Examples: cerec audit runs/demo --out audit
              cerec audit runs/demo --attribute country
    """
    run = open_run(run_folder)
    total = len(run.data.users) if sample is None else min(sample, len(run.data.users))
    asked: dict[str, Any] = {"sample": sample, "by": by or (), "least": least}
    with _written(out_folder), progress() as bar:

        def counted(words: str) -> Callable[[int], object]:
            task = bar.add_task(words, total=total, note="")
            return lambda n: bar.advance(task, n)

        pages: Pages = {}
        for relation in attribute or []:
            found = run.trial(relation, k, **asked, progress=counted(f"trial of {relation}"))
            pages[f"trial-{_safe(found.attribute)}"] = found.text(), found
        if not attribute:
            asked["items_by"] = items_by or ()
            findings = run.audit(k, **asked, progress=counted("audit"))
            pages["audit"] = findings.text(run.data.name), findings
        _write(pages, out_folder)
    _show(pages, out_folder, json)


def diff(
    run_folder: RunFolder,
    other_folder: Annotated[Path, typer.Argument(metavar="RUN_B", help="The run to compare with.")],
    k: Length = 20,
    least: Least = 20,
    out_folder: Out = None,
    json: Json = False,
) -> None:
    """How the lists of two runs differ, and why each item moved.

    Example: cerec diff runs/monday runs/tuesday --out changes
    """
    a, b = open_run(run_folder), open_run(other_folder)
    with _written(out_folder), progress() as bar:
        task = bar.add_task("comparing", total=None, note="")
        found = a.diff(b, k, least=least, progress=lambda n: bar.advance(task, n))
        pages: Pages = {"diff": (found.text(run_folder.name, other_folder.name), found)}
        _write(pages, out_folder)
    _show(pages, out_folder, json)


@contextmanager
def _written(folder: Path | None) -> Iterator[None]:
    """Refuse a folder that cannot be written to, and keep other commands out of it."""
    if folder is None:
        yield
        return
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; --out takes a folder")
    if (folder / "run.json").exists():
        raise ConfigError(f"{folder}: is a run; choose another --out")
    busy = ConfigError(f"{folder}: another command writes there; choose another --out")
    with lock_file(folder / ".audit.lock", busy):
        yield


def _write(pages: Pages, folder: Path | None) -> None:
    if folder is None:
        return
    for name, (text, found) in pages.items():
        with replacing(folder / f"{name}.md") as target:
            target.write_text(text, encoding="utf-8")
        write_json(folder / f"{name}.json", found.to_dict())
        remark(f"wrote {folder / name}.md and {name}.json")


def _show(pages: Pages, folder: Path | None, json: bool) -> None:
    """As JSON, or as a page to read where none was written."""
    if json:
        values = [found.to_dict() for _, found in pages.values()]
        print_json(values[0] if len(values) == 1 else values)
    elif folder is None:
        from rich.markdown import Markdown

        for text, _ in pages.values():
            out.print(Markdown(text))


def _safe(name: str) -> str:
    """A name that a file can have."""
    return "".join(c if c.isalnum() else "-" for c in name)[-60:].strip("-") or "attribute"
