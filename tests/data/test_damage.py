"""Damaged files give right data, or one line that names the file; nothing in between."""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import Dataset
from cerec.data.load import load
from cerec.errors import CerecError

Files = dict[str, bytes | None]
"""Content by file name; None for a folder of that name."""

KGAT: Files = {
    "train.txt": b"0 0 1\n1 2 1\n2\n",
    "test.txt": b"0 2\n1 0\n",
    "kg_final.txt": b"0 0 3\n1 0 3\n4 1 2\n3 1 4\n",
}
KGAT_LISTS: Files = {
    **KGAT,
    "user_list.txt": b"org_id remap_id\nann 0\nbob 1\ncy 2\n",
    "item_list.txt": b"org_id\tremap_id\ttitle\nm1\t0\tHeat\nm2\t1\tJaws\nm3\t2\tBig one\n",
    "entity_list.txt": b"org_id remap_id\nm1 0\nm2 1\nm3 2\nAl Pacino 3\nx::y 4\n",
    "relation_list.txt": b"org_id remap_id\nstarring 0\ngenre 1\n",
}
TABLES: Files = {
    "interactions.csv": b'user,item,rating,timestamp\nann,1,5,10\nbob,2,3.5,11\n"b,c",1,2,12\n',
    "items.csv": b"item,name,genre,year\n1,Heat,Crime|Drama,1995\n2,Big,Drama,1960\n3,New,,\n",
    "entities.csv": b"entity,name\nDrama,The drama\n",
    "triples.csv": b"head,relation,tail\n1,next,2\nDrama,near,genre:Crime\n",
}
RECBOLE: Files = {
    "d.inter": b"user_id:token\titem_id:token\trating:float\n7\t1\t3\n8\t2\t4.5\n7\t2\t1\n",
    "d.item": b"item_id:token\ttitle:token_seq\tclass:token_seq\tyear:token\n"
    b"1\tToy Story\tAnimation Comedy\t1995\n2\tHeat\tCrime\t1996\n",
    "d.link": b"item_id:token\tentity_id:token\n1\tm.1\n2\tm.2\n",
    "d.kg": b"head_id:token\trelation_id:token\ttail_id:token\n"
    b"m.1\tfilm.actor\tm.9\nm.9\tin\tm.2\n",
}
JUNK = [b"", b"-1", b"99999999999", b"2147483648", b"nan", b"inf", b"1e400", b"x", b"\xff\xfe",
        b"\x00", b'"', b"\r", b"\t", b",", b"|", b" ", b"7", b"1.5", b"\xef\xbb\xbf",
        b"\n"]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, files: Files) -> Files:
    """`files` with one to three things done to them."""
    out = dict(files)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(out)))
        content = out[name]
        if content is not None:
            out[name] = draw(_damage(content))
    return out


@st.composite
def _damage(draw: st.DrawFn, content: bytes) -> bytes | None:
    at = draw(st.integers(0, len(content)))
    lines = content.split(b"\n")
    row = draw(st.integers(0, len(lines) - 1))
    junk = draw(st.sampled_from(JUNK) | st.binary(max_size=8))
    kind = draw(st.sampled_from(["cut", "empty", "folder", "insert", "replace", "drop", "twice",
                                 "field", "binary"]))  # fmt: skip
    if kind == "field":  # one field or word of one line
        separator = next((s for s in (b"\t", b",", b" ") if s in lines[row]), b" ")
        words = lines[row].split(separator)
        words[draw(st.integers(0, len(words) - 1))] = junk
        lines[row] = separator.join(words)
        return b"\n".join(lines)
    if kind in ("drop", "twice"):
        lines[row : row + 1] = [] if kind == "drop" else [lines[row]] * 2
        return b"\n".join(lines)
    whole: dict[str, bytes | None] = {
        "cut": content[:at],
        "empty": b"",
        "folder": None,
        "insert": content[:at] + junk + content[at:],
        "replace": content[:at] + junk + content[at + len(junk) :],
        "binary": bytes(range(256)),
    }
    return whole[kind]


def loaded(files: Files) -> Dataset | None:
    """The data of the files; None when they were refused as they should be."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        for file, content in files.items():
            if content is None:
                (folder / file).mkdir()
            else:
                (folder / file).write_bytes(content)
        data, said = attempt(lambda: load(folder, cache=False))
        assert data is not None or (str(folder) in said and len(said.splitlines()) == 1), said
        return data


def attempt(make: Callable[[], Dataset]) -> tuple[Dataset | None, str]:
    """The dataset, or what was said instead."""
    try:
        return make(), ""
    except CerecError as error:
        return None, str(error)


def pairs(data: Dataset) -> Counter[tuple[str, str]]:
    i = data.interactions
    rows = zip(i.user.tolist(), i.item.tolist(), strict=True)
    return Counter((data.users[u], data.items[x]) for u, x in rows)


def ends(data: Dataset) -> set[frozenset[str]]:
    nodes = [*data.items, *data.entities]
    rows = zip(data.triples.head.tolist(), data.triples.tail.tolist(), strict=True)
    return {frozenset((nodes[h], nodes[t])) for h, t in rows}


def text(content: bytes | None) -> str:
    return (content or b"").decode().removeprefix("\ufeff")


def naive_kgat(files: Files) -> tuple[Counter[tuple[str, str]], set[frozenset[str]]]:
    found: Counter[tuple[str, str]] = Counter()
    for name in ("train.txt", "test.txt"):
        for line in text(files[name]).split("\n"):
            words = line.split()
            found.update((str(int(words[0])), str(int(w))) for w in words[1:])
    facts = [line.split() for line in text(files["kg_final.txt"]).split("\n")]
    return found, {frozenset((str(int(f[0])), str(int(f[2])))) for f in facts if f}


@settings(max_examples=60)
@given(damaged(KGAT))
def test_kgat_numbers(files: Files) -> None:
    data = loaded(files)
    if data is not None:
        assert (pairs(data), ends(data)) == naive_kgat(files)


@settings(max_examples=60)
@given(damaged(KGAT_LISTS))
def test_kgat_with_lists(files: Files) -> None:
    data = loaded(files)
    if data is not None:
        found, facts = naive_kgat(files)
        assert sum(found.values()) == len(data.interactions)
        assert sorted(found.values()) == sorted(pairs(data).values())
        assert len(facts) == len(ends(data))


@settings(max_examples=60)
@given(damaged(TABLES))
def test_tables(files: Files) -> None:
    data = loaded(files)
    if data is not None:
        read = csv.DictReader(io.StringIO(text(files["interactions.csv"]), newline=""))
        read.fieldnames = [f.strip() for f in read.fieldnames or []]
        assert pairs(data) == Counter((row["user"], row["item"]) for row in read)


@settings(max_examples=60)
@given(damaged(RECBOLE))
def test_recbole(files: Files) -> None:
    data = loaded(files)
    if data is not None:
        lines = [line.removesuffix("\r") for line in text(files["d.inter"]).split("\n")]
        header, *rows = [line.split("\t") for line in lines if line]
        names = [c.strip().rpartition(":")[0] for c in header]
        u, i = names.index("user_id"), names.index("item_id")
        assert pairs(data) == Counter((row[u], row[i]) for row in rows)


@pytest.mark.parametrize("files", [KGAT, KGAT_LISTS, TABLES, RECBOLE])
def test_without_damage_they_load(files: Files) -> None:
    assert loaded(files) is not None


@pytest.mark.slow
@settings(max_examples=1500)
@given(st.sampled_from([KGAT, KGAT_LISTS, TABLES, RECBOLE]).flatmap(damaged))
def test_all_of_them_at_length(files: Files) -> None:
    loaded(files)


@settings(max_examples=60)
@given(st.data())
def test_frames(source: st.DataObject) -> None:
    """Wrong columns and values in frames are told by table and row."""
    value: st.SearchStrategy[object] = st.one_of(
        st.none(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3),
        st.booleans(), st.binary(max_size=2), st.dates(), st.lists(st.integers(), max_size=2),
    )  # fmt: skip
    n = source.draw(st.integers(0, 3))
    column = st.lists(value, min_size=n, max_size=n)
    names = st.sampled_from(["user", "item", "rating", "timestamp", "part", "genre"])
    make: Callable[[], dict[str, list[object]]] = lambda: source.draw(  # noqa: E731
        st.dictionaries(names, column)
    )
    interactions, items = make(), source.draw(st.none() | st.just(make()))
    data, said = attempt(lambda: Dataset.from_frames(interactions, items))
    assert data is not None or len(said.splitlines()) == 1, said
    assert data is None or len(data.interactions) == n
