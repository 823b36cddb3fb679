"""`cerec data convert`: data from any format to any other, without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import Columns, Delimiter, Format, Options, named, reading
from cerec.cli.console import out, print_json, remark
from cerec.data.load import load
from cerec.data.writers.write import write


def convert(
    source: Annotated[str, typer.Argument(help="A folder of data, or 'demo'.")],
    target: Annotated[
        Path, typer.Argument(parser=named, metavar="TARGET", help="A new or empty folder.")
    ],
    to: Annotated[
        str, typer.Option("--to", help="tables (CSV), parquet, kgat or recbole.")
    ] = "tables",
    format: Format = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    option: Options = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")] = False,
) -> None:
    """Write the data of SOURCE to TARGET in another format; nothing is lost on the way.

    Example: cerec data convert demo movies --to tables
    """
    data = load(source, format=format, **reading(option, columns, delimiter))
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
