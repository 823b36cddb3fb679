"""Table III: consistency of explanations."""

from __future__ import annotations

from cerec.reproduce.store import Results
from cerec.reproduce.text import Block


def blocks(results: Results) -> list[Block]:
    """The paper's table, and what there is of ours."""
    del results
    return ["The comparison of explanation methods is not part of this version."]
