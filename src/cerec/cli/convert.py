"""`cerec data convert`: data from any format to any other, without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import named
from cerec.cli.console import out, print_json, remark
from cerec.data.load import load, parse_options
from cerec.data.writers.write import write


def convert(
    source: Annotated[str, typer.Argument(help="A folder of data, or 'demo'.")],
    target: Annotated[
        Path, typer.Argument(parser=named, metavar="TARGET", help="A new or empty folder.")
    ],
    to: Annotated[
        str, typer.Option("--to", help="tables (CSV), parquet, kgat or recbole.")
    ] = "tables",
    format: Annotated[
        str | None, typer.Option("--format", help="Format of SOURCE, when looking is not enough.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="For the reader: kg=FILE, train=FILE, bins=price:5."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Write the data of SOURCE to TARGET in another format; nothing is lost on the way.

    Example: cerec data convert demo movies --to tables
    """
    data = load(source, format=format, **parse_options(option or []))
    write(data, target, to)
    if as_json:
        print_json(
            {
                "target": str(target),
                "format": to,
                "fingerprint": data.fingerprint,
                "users": len(data.users),
                "items": len(data.items),
                "interactions": len(data.interactions),
                "entities": len(data.entities),
                "relations": len(data.relations),
                "triples": len(data.triples),
                "notes": list(data.notes),
            }
        )
        return
    for note in data.notes:
        remark(note)
    out.print(f"{target}: {data!r}", soft_wrap=True)
