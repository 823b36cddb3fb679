from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tests neither see nor leave anything in the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("CEREC_CACHE", str(folder))
    return folder
