"""From files to one `Dataset`: readers, checks, filters, parts, the graph."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.data.ckg import Ckg
    from cerec.data.dataset import Dataset
    from cerec.data.facts import Facts
    from cerec.data.ids import IdTable
    from cerec.data.ragged import Ragged
    from cerec.data.split import Split
    from cerec.data.synthetic.generate import WorldConfig, checkerboard, make_world
    from cerec.data.writer import write

__all__ = [
    "Ckg",
    "Dataset",
    "Facts",
    "IdTable",
    "Ragged",
    "Split",
    "WorldConfig",
    "checkerboard",
    "make_world",
    "write",
]

__getattr__, __dir__ = exports(__name__, __file__)
