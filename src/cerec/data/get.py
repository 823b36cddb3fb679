"""Public data that may be fetched: through pip's own configuration, checked, kept in the cache."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cerec.data.cache import cache_folder
from cerec.errors import CerecError, ConfigError, DataError, near_matches
from cerec.files import Unwritten, replacing

_PATIENCE = 300  # seconds until pip is given up


@dataclass(frozen=True, slots=True)
class Source:
    """Files inside a wheel, with the SHA-256 of each."""

    requirement: str
    folder: str
    files: Mapping[str, str]
    terms: str


SOURCES: Mapping[str, Source] = {
    "ml-100k": Source(
        requirement="recbole==1.2.1",
        folder="recbole/dataset_example/ml-100k",
        files={
            "ml-100k.inter": "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff",
            "ml-100k.item": "51d7cdf777ce5c0f5b32c1d947a4a81fe07d75e78abbe761e0cd4d0756064532",
            "ml-100k.kg": "200a0636fa07c218119a42e5bac7aa3e26e3665a6f919c1b22909bd412b14779",
            "ml-100k.link": "524dca2c3d62619688ab99b3ec53ea2acb9b64d38eafec3e02bdd0dc6bb7d948",
            "ml-100k.user": "4f670007d9cfbeb9807e757209af1555b9bcc186bde25e767f67cb67c6dd5972",
        },
        terms="MovieLens: for research, not to be redistributed (GroupLens terms of use)",
    )
}
"""What `get` can fetch. The wheels are unzipped, never installed or imported."""


def cached(name: str) -> Path | None:
    """The folder of fetched data, if it is there."""
    if name not in SOURCES:
        return None
    folder = _home(name)
    return folder if all((folder / file).is_file() for file in SOURCES[name].files) else None


def get(name: str, *, download: Callable[[str, Path], None] | None = None) -> Path:
    """The folder of public data, fetched unless it is in the cache.

    `download` puts the wheel of a requirement into a folder; by default pip does.
    """
    if name not in SOURCES:
        near = near_matches(name, SOURCES) or tuple(SOURCES)
        raise ConfigError(
            f"no data called {name!r} to get; {' or '.join(map(repr, near))} can be had"
        )
    found = cached(name)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="cerec-") as aside:
        source = SOURCES[name]
        (download or _pip)(source.requirement, Path(aside))
        wheels = sorted(Path(aside).glob("*.whl"))
        if not wheels:
            raise DataError(f"{name}: no wheel came for {source.requirement}; try again")
        return _unzip(name, source, wheels[0])


def _home(name: str) -> Path:
    return cache_folder() / "get" / name


def _pip(requirement: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unreachable(requirement, f"pip did not finish ({type(error).__name__})") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line]
        raise _unreachable(requirement, (errors or ["pip failed"])[-1].strip())


def _unreachable(requirement: str, reason: str) -> CerecError:
    return DataError(
        f"could not download {requirement}: {reason}; connect to the network or set pip's index, "
        "or use the built-in world: demo"
    )


def _unzip(name: str, source: Source, wheel: Path) -> Path:
    """The files out of the wheel, each with the right checksum, all or none."""
    home = _home(name)
    try:
        with zipfile.ZipFile(wheel) as archive, replacing(home, folder=True) as target:
            target.mkdir()
            for file, expected in source.files.items():
                content = archive.read(f"{source.folder}/{file}")
                found = hashlib.sha256(content).hexdigest()
                if found != expected:
                    raise DataError(
                        f"{wheel.name}: {file} has SHA-256 {found}, expected {expected}; the "
                        "package index gave another file: try again, or another index"
                    )
                (target / file).write_bytes(content)
    except (KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{wheel.name}: not the expected wheel ({error}); try again") from None
    except Unwritten as error:
        raise DataError(f"{error}; set CEREC_CACHE") from None
    return home
