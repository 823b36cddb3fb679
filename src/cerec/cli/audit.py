"""`cerec audit` and `cerec diff`: the whole recommender, and two of them side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cerec.cli.arguments import Json, RunFolder, named
from cerec.cli.console import out, print_json, progress, remark
from cerec.errors import ConfigError
from cerec.files import replacing, write_json
from cerec.runs.run import open_run

if TYPE_CHECKING:
    from cerec.audit import Difference, Findings, Trial

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
    _refuse_file(out_folder)
    run = open_run(run_folder)
    total = len(run.data.users) if sample is None else min(sample, len(run.data.users))
    pages: dict[str, tuple[str, Findings | Trial | Difference]] = {}
    with progress() as bar:
        for relation in attribute or []:
            task = bar.add_task(f"trial of {relation}", total=total, note="")
            found = run.trial(
                relation, k, sample=sample, by=by or (), least=least,
                progress=lambda n, task=task: bar.advance(task, n),  # type: ignore[misc]
            )  # fmt: skip
            pages[f"trial-{_safe(found.attribute)}"] = found.text(), found
        if not attribute:
            task = bar.add_task("audit", total=total, note="")
            findings = run.audit(
                k, sample=sample, by=by or (), items_by=items_by or (), least=least,
                progress=lambda n: bar.advance(task, n),
            )  # fmt: skip
            pages["audit"] = findings.text(run.data.name), findings
    _give(pages, out_folder, json)


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
    _refuse_file(out_folder)
    a, b = open_run(run_folder), open_run(other_folder)
    with progress() as bar:
        task = bar.add_task("comparing", total=None, note="")
        found = a.diff(b, k, least=least, progress=lambda n: bar.advance(task, n))
    _give({"diff": (found.text(run_folder.name, other_folder.name), found)}, out_folder, json)


def _refuse_file(folder: Path | None) -> None:
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; --out takes a folder")
    if folder is not None and (folder / "run.json").exists():
        raise ConfigError(f"{folder}: is a run; choose another --out")


def _give(
    pages: dict[str, tuple[str, Findings | Trial | Difference]], folder: Path | None, json: bool
) -> None:
    """To a folder, as JSON, or as a page to read."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (text, found) in pages.items():
            with replacing(folder / f"{name}.md") as target:
                target.write_text(text, encoding="utf-8")
            write_json(folder / f"{name}.json", found.to_dict())
            remark(f"wrote {folder / name}.md and {name}.json")
    if json:
        values: list[Any] = [found.to_dict() for _, found in pages.values()]
        print_json(values[0] if len(values) == 1 else values)
    elif folder is None:
        from rich.markdown import Markdown

        for text, _ in pages.values():
            out.print(Markdown(text))


def _safe(name: str) -> str:
    """A name that a file can have."""
    return "".join(c if c.isalnum() else "-" for c in name)[-60:].strip("-") or "attribute"
