from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cerec.data.dataset import TEST, TRAIN, Dataset
from cerec.data.load import load
from cerec.errors import CerecError, DataError

SMALL = {
    "train.txt": "0 0 1\n1 2\n",
    "test.txt": "0 2\n1 0\n",
    "kg_final.txt": "0 0 3\n1 0 3\n4 1 2\n3 1 4\n",
    "item_list.txt": "org_id\tremap_id\ttitle\nm1\t0\tHeat &amp; Dust\nm2\t1\tJaws\nm3\t2\tBig\n",
    "entity_list.txt": "org_id\tremap_id\ne0\t0\ne1\t1\ne2\t2\n"
    "http://dbpedia.org/resource/Al_Pacino\t3\ngenre::Western\t4\n",
    "relation_list.txt": "org_id remap_id\nhttp://x.org/property/starring 0\nfilm.film.genre 1\n",
}


def folder(path: Path, files: dict[str, str | bytes]) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        content = text if isinstance(text, bytes) else text.encode()
        (path / name).write_bytes(content)
    return path


def read(path: Path, files: dict[str, str | bytes], **options: str) -> Dataset:
    return load(folder(path, files), cache=False, **options)


def facts(data: Dataset) -> set[tuple[str, str, str]]:
    nodes = [*data.items, *data.entities]
    t = data.triples
    rows = zip(t.head.tolist(), t.relation.tolist(), t.tail.tolist(), strict=True)
    return {(nodes[h], data.relations[r], nodes[x]) for h, r, x in rows}


def pairs(data: Dataset) -> list[tuple[str, str]]:
    i = data.interactions
    return [
        (data.users[u], data.items[x])
        for u, x in zip(i.user.tolist(), i.item.tolist(), strict=True)
    ]


def test_a_small_folder_by_hand(tmp_path: Path) -> None:
    data = read(tmp_path, {**SMALL})
    assert data.users.ids == ("0", "1")
    assert data.items.ids == ("m1", "m2", "m3")
    assert data.items.names == ("Heat & Dust", "Jaws", "Big")
    assert data.entities.ids == ("genre::Western", "http://dbpedia.org/resource/Al_Pacino")
    assert data.entities.names == ("Western", "Al Pacino")
    assert pairs(data) == [("0", "m1"), ("0", "m2"), ("0", "m3"), ("1", "m1"), ("1", "m3")]
    assert data.interactions.part is not None
    assert data.interactions.part.tolist() == [TRAIN, TRAIN, TEST, TEST, TRAIN]
    pacino, western = "http://dbpedia.org/resource/Al_Pacino", "genre::Western"
    starring, genre = "http://x.org/property/starring", "film.film.genre"
    assert facts(data) == {
        ("m1", starring, pacino),
        ("m2", starring, pacino),
        ("m3", genre + "^-1", western),  # the item is the head
        (pacino, genre, western),
    }
    assert dict(zip(data.relations.ids, data.relations.names, strict=True)) == {
        starring: "starring",
        genre: "genre",
        genre + "^-1": "genre (inverse)",
    }


def test_without_lists_numbers_are_ids(tmp_path: Path) -> None:
    files = {k: SMALL[k] for k in ("train.txt", "test.txt", "kg_final.txt")}
    data = read(tmp_path, files)
    assert (data.users.ids, data.items.ids) == (("0", "1"), ("0", "1", "2"))
    assert data.entities.ids == ("3", "4")


def test_an_entity_with_the_id_of_an_item_is_told_apart(tmp_path: Path) -> None:
    data = read(tmp_path, {**SMALL, "item_list.txt": "org_id remap_id\n3 0\n5 1\n7 2\n",
                           "entity_list.txt": "org_id remap_id\n3 3\n9 4\n"})  # fmt: skip
    assert data.items.ids == ("3", "5", "7")
    assert data.entities.ids == ("9", "entity:3")
    assert data.entities.names == ("9", "3")


def test_packed_files_crlf_and_byte_order_mark(tmp_path: Path) -> None:
    plain = read(tmp_path / "a", {**SMALL})
    train = b"\xef\xbb\xbf" + SMALL["train.txt"].replace("\n", "\r\n").encode()
    files = {k: v for k, v in SMALL.items() if k not in ("train.txt", "item_list.txt")}
    packed = {
        "train.txt.gz": gzip.compress(train),
        "item_list.txt.gz": gzip.compress(SMALL["item_list.txt"].encode()),
    }
    assert read(tmp_path / "b", {**files, **packed}) == plain


def test_without_a_train_file_the_others_are_merged(tmp_path: Path) -> None:
    files = {**SMALL, "valid1.txt": "0 1\n", "kg_part.txt": "0 0 3\n"}
    del files["train.txt"], files["kg_final.txt"]
    data = read(tmp_path, files)
    assert data.interactions.part is None
    assert pairs(data) == [("0", "m2"), ("0", "m3"), ("1", "m1")]
    assert data.entities.ids == ("http://dbpedia.org/resource/Al_Pacino",)
    assert any("taken together" in note for note in data.notes)
    assert any("1 entities outside the graph" in note for note in data.notes)


def test_other_file_names_by_option(tmp_path: Path) -> None:
    files = {**SMALL, "mine.txt": "0 1\n"}
    assert pairs(read(tmp_path, files, test="mine.txt"))[1] == ("0", "m2")


def test_a_number_glued_to_its_third_column(tmp_path: Path) -> None:
    glued = "org_id remap_id freebase_id\n8j 08j\n1 11\nxy 2xy\n"
    assert read(tmp_path, {**SMALL, "item_list.txt": glued}).items.ids == ("1", "8j", "xy")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("train.txt", "0 0 1\n1 -2\n", "train.txt:2: expected 'user item item ...' as whole"),
        ("train.txt", "0 0 1\n\n1 99999999999\n", "train.txt:3: "),
        ("train.txt", "0 0 1\n1 nan\n", "got 'nan'"),
        ("test.txt", "0 1\n\n1 7\n", "test.txt:3: item 7 is not in item_list.txt"),
        ("kg_final.txt", "0 0 3\n0 1\n", "kg_final.txt:2: expected 'head relation tail'"),
        ("kg_final.txt", "0 0 3 4\n", "kg_final.txt:1: "),
        ("item_list.txt", "org_id remap_id\na 0\nb one\n", "item_list.txt:3: "),
        ("item_list.txt", "org_id remap_id\na 0\nb 2\n", "expected the numbers 0 to 1"),
        ("item_list.txt", "org_id remap_id\na 0\nb 0\n", "stands for two ids"),
        ("item_list.txt", "org_id remap_id\na 0\na 1\n", "id 'a' has two numbers"),
        ("item_list.txt", "", "item_list.txt:1: expected a header"),
        ("item_list.txt", b"org_id remap_id\n\xff\xfe 0\n", "item_list.txt:2: not UTF-8"),
        ("train.txt.gz", b"not gzip", "train.txt.gz: not a whole gzip file"),
        ("user_list.txt", "org_id remap_id\nann 0\n", "train.txt:2: user 1 is not in"),
    ],
)  # fmt: skip
def test_damage_is_named(tmp_path: Path, name: str, text: str | bytes, said: str) -> None:
    files: dict[str, str | bytes] = {**SMALL, name: text}
    if name.endswith(".gz"):
        del files[name.removesuffix(".gz")]
    with pytest.raises(DataError) as caught:
        read(tmp_path, files)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    path = folder(tmp_path, {**SMALL})
    (path / "user_list.txt").mkdir()
    with pytest.raises(CerecError, match=r"user_list.txt: is a folder"):
        load(path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("ml-1m", (6_039, 3_171, 784_196, 11_555, 21, 434_166)),
        ("amazon-beauty", (22_363, 12_101, 198_502, 108_873, 5, 1_115_330)),
        ("last-fm", (23_566, 48_123, 1_542_856, 58_266, 9, 464_567)),
        ("yelp2018-partial", (45_919, 45_538, 364_300, 1_772, 42, 869_603)),
        ("alibaba-ifashion", (114_737, 30_040, 1_781_093, 59_156, 51, 279_155)),
    ],
)
def test_real_folders_have_the_published_figures(
    real_data: Path, name: str, figures: tuple[int, ...]
) -> None:
    data = load(real_data / name, cache=False)
    own_relations = {r.removesuffix("^-1") for r in data.relations}
    assert figures == (
        len(data.users),
        len(data.items),
        len(data.interactions),
        len(data.entities),
        len(own_relations),
        len(data.triples),
    )
