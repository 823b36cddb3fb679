"""Public names of a package, and slow modules, imported when they are first used.

A package lists them once, as imports for type checkers:

    if TYPE_CHECKING:
        from cerec.data.dataset import Dataset

    __getattr__, __dir__ = exports(__name__, __file__)

so that `from cerec.data import Dataset` imports nothing else of the package.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


class Later:
    """A module that is slow to import, imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package whose `__init__` is `file`."""

    @cache
    def homes() -> dict[str, tuple[str, str]]:
        nodes = ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        found = [n for n in nodes if isinstance(n, ast.ImportFrom)]
        return {
            name.asname or name.name: (node.module or "", name.name)
            for node in found
            if (node.module or "").partition(".")[0] == "cerec" and node.module != __name__
            for name in node.names
        }

    def named(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes()[name]
        if module == package:
            return import_module(f"{module}.{attribute}")
        return getattr(import_module(module), attribute)

    return named, lambda: sorted(homes())
