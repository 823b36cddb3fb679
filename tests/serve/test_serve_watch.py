"""A service takes up what is in its folder; each answer names the version it is from."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import cerec
from cerec.runs.run import Run
from cerec.serve.app import create_app
from cerec.serve.service import Service
from cerec.serve.watch import Watched

pytest.importorskip("fastapi")


def test_a_new_version_is_taken_up(
    small_run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from starlette.testclient import TestClient

    folder = small_run.save(tmp_path / "run")
    service = Watched(folder)
    user = small_run.data.users[0]
    path = f"/v1/recommendations?user={user}"
    with TestClient(create_app(service), base_url="http://localhost") as client:  # type: ignore[arg-type]
        first = client.get(path)
        assert first.headers["cerec-run-version"] == "1"
        assert not service.look()
        run = cerec.open(folder)
        run.meta["version"] = 2
        run.save(folder)
        assert client.get(path).headers["cerec-run-version"] == "1"
        assert service.look()
        second = client.get(path)
        assert second.headers["cerec-run-version"] == "2"
        assert second.json() == first.json()
        assert client.get("/v1/run").headers["cerec-run-version"] == "2"

        kept = (folder / "run.json").read_text()
        (folder / "run.json").write_text("{}")
        with caplog.at_level(logging.WARNING):
            assert not service.look()
            assert not service.look()
        assert caplog.text.count("version 2 goes on answering") == 1
        assert client.get(path).headers["cerec-run-version"] == "2"
        (folder / "run.json").unlink()
        assert not service.look()
        (folder / "run.json").write_text(kept)


def test_every_answer_of_a_run_names_its_version(service: Service, small_run: Run) -> None:
    assert service.version == small_run.version == 1
