"""`cerec doctor`."""

from __future__ import annotations

import json

import pytest

from cerec.cli import doctor as module
from cerec.cli.doctor import CORE, doctor, self_test
from cerec.errors import CerecError


def test_the_self_test_passes() -> None:
    outcomes = self_test()
    assert [o["step"] for o in outcomes] == list(module._STEPS)
    assert all(o["ok"] for o in outcomes), outcomes


def test_json_holds_versions_threads_and_memory(capsys) -> None:
    doctor(json=True)
    facts = json.loads(capsys.readouterr().out)
    assert all(facts["packages"][name] for name in CORE)
    assert facts["threads"]["kernels"] >= 1
    assert facts["memory_gb"]["total"] > 0


def test_people_see_every_step(capsys) -> None:
    doctor()
    text = capsys.readouterr().out
    assert "numba" in text
    assert all(step in text for step in module._STEPS)


def test_a_failing_step_is_one_line(monkeypatch, capsys) -> None:
    def broken(state) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(module, "_STEPS", {"fail": broken, "never": broken})
    with pytest.raises(CerecError, match="self-test failed at 'fail': RuntimeError: no luck"):
        doctor(json=True)
    assert len(json.loads(capsys.readouterr().out)["self_test"]) == 1


def test_memory_is_unknown_where_the_system_does_not_tell(tmp_path) -> None:
    assert module._memory(tmp_path / "nothing") == {"total": None, "available": None}


def test_a_run_folder_is_checked_in_full(small_run, tmp_path, capsys) -> None:
    folder = small_run.save(tmp_path / "run")
    doctor(folder, json=True)
    found = json.loads(capsys.readouterr().out)
    assert set(found["files"].values()) == {"sound"}
    assert found["problem"] is None
    (folder / "model.safetensors").write_bytes(b"x")
    (folder / "history.csv").unlink()
    with pytest.raises(CerecError, match=r"model\.safetensors: has 1 bytes"):
        doctor(folder)
    text = capsys.readouterr().out
    assert "its data are sound" in text
    assert "its settings are sound" in text
    with pytest.raises(CerecError, match="no such folder"):
        doctor(tmp_path / "none")
