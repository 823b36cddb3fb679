"""Small tensors on one thread: two cost many times more on a busy machine."""

from __future__ import annotations

import pytest

from cerec.threads import set_threads


@pytest.fixture(scope="session", autouse=True)
def _threads() -> None:
    set_threads()
