"""Bytes of a text file, whatever it is packed in, and the line a byte stands on."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from cerec.errors import DataError

PACKED = (".gz",)
"""Endings of files that are unpacked while reading."""
_BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes:
    """The unpacked content without a byte-order mark; `.gz` by the file's ending."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder, expected a file; remove it or name another file")
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the name") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check its rights") from None
    if path.suffix == ".gz":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: not a whole gzip file ({error}); copy it again") from None
    return raw.removeprefix(_BOM)


def read_text(path: Path) -> str:
    """The content as text; anything but UTF-8 is an error that names its line."""
    return decode(path, read_bytes(path))


def decode(path: Path, raw: bytes) -> str:
    """`raw` as UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = line_of(raw, error.start)
        value = raw[error.start : error.start + 4]
        raise DataError(
            f"{path}:{line}: not UTF-8 text, got {value!r}; save the file as UTF-8"
        ) from None


def line_of(raw: bytes, position: int) -> int:
    """Number of the line, from 1, that holds the byte at `position`."""
    return raw.count(b"\n", 0, position) + 1


def line_at(raw: bytes, line: int, most: int = 60) -> str:
    """The text of a line (from 1), shortened, for messages."""
    start = 0
    for _ in range(line - 1):
        start = raw.find(b"\n", start) + 1
    end = raw.find(b"\n", start)
    text = raw[start : len(raw) if end < 0 else end].rstrip(b"\r").decode("utf-8", "replace")
    return text if len(text) <= most else text[: most - 1] + "…"


def find(folder: Path, *stems: str) -> Path | None:
    """The first of `stems` that is in `folder`, as it is or packed."""
    for stem in stems:
        for ending in ("", *PACKED):
            if (folder / (stem + ending)).exists():
                return folder / (stem + ending)
    return None


def stem_of(path: Path) -> str:
    """The file name without the packing ending: `train.txt` for `train.txt.gz`."""
    return path.name.removesuffix(path.suffix) if path.suffix in PACKED else path.name


def one_line(error: BaseException, most: int = 120) -> str:
    """What an exception of another library says, on one short line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= most else text[: most - 1] + "…"
