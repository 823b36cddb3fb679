"""Random frames for the reader and writer tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from cerec.data.columns import MISSING

AWKWARD = "|:,\"\t\n\r\\ '#é\x1f\x00\ufeff;=1a"
ids = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["Drama", "genre:Drama", "entity:1", "1", "item", "x^-1", "a:b", "name"]),
    st.text(AWKWARD, min_size=1, max_size=4),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
).filter(lambda text: text.strip().lower() not in MISSING)
finite32 = st.floats(allow_nan=False, allow_infinity=False, width=32)
finite64 = st.floats(-1e12, 1e12, allow_nan=False)


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of `from_frames` as mappings of columns: every table, with repeats and gaps."""
    users = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    items = draw(st.lists(ids, min_size=1, max_size=5, unique=True))
    n = draw(st.integers(1, 8))
    pick = lambda pool: draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))  # noqa: E731
    interactions: dict[str, Any] = {"user": pick(users), "item": pick(items)}
    if draw(st.booleans()):
        interactions["rating"] = draw(st.lists(finite32, min_size=n, max_size=n))
    if draw(st.booleans()):
        interactions["timestamp"] = draw(st.lists(finite64, min_size=n, max_size=n))
    if draw(st.booleans()):
        interactions["part"] = pick(["train", "valid", "test"])
    relations = draw(st.lists(ids, max_size=3, unique=True))
    columns = [r for r in relations if r not in ("item", "name", "item_id", "title", "itemId")]
    value = st.none() | st.lists(ids, max_size=3)
    catalogue: dict[str, Any] = {"item": items, "name": [draw(st.none() | ids) for _ in items]}
    catalogue |= {c: [draw(value) for _ in items] for c in columns}
    entities = draw(st.lists(ids, max_size=3, unique=True))
    nodes = st.sampled_from([*items, *entities]) | ids
    facts = draw(st.lists(st.tuples(nodes, ids, nodes), max_size=5))
    return {
        "interactions": interactions,
        "items": catalogue,
        "users": {"user": users, "name": [draw(st.none() | ids) for _ in users]},
        "entities": {"entity": entities, "name": [draw(st.none() | ids) for _ in entities]},
        "triples": {
            "head": [f[0] for f in facts],
            "relation": [f[1] for f in facts],
            "tail": [f[2] for f in facts],
        },
    }


def permuted(draw: st.DrawFn, columns: dict[str, Any]) -> dict[str, Any]:
    """The same table with its rows in another order."""
    n = len(next(iter(columns.values())))
    order = draw(st.permutations(range(n)))
    return {c: [values[k] for k in order] for c, values in columns.items()}
