"""The report: one file, nothing asked of elsewhere, equal for equal runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from cerec.data.ids import IdTable
from cerec.runs.run import Run
from cerec.serve.page import load_files
from cerec.serve.report import MODULES, report_html, write_report

NAME = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def embedded(text: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def test_one_file_with_run_and_people(small_run: Run, tmp_path: Path) -> None:
    path = write_report(small_run, tmp_path / "r.html", users=2, items=2, k=5)
    text = path.read_text(encoding="utf-8")
    data = embedded(text)
    assert [len(p["explanations"]) for p in data["people"]] == [2, 2]  # type: ignore[index,attr-defined]
    outside = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"""(?:src|href)=|https?://|@import|url\(""", outside)


def test_equal_runs_give_equal_reports(small_run: Run) -> None:
    assert report_html(small_run, users=1, items=1) == report_html(small_run, users=1, items=1)


def test_a_name_cannot_leave_its_place(small_run: Run) -> None:
    data = small_run.data
    evil = "</script><script>alert(1)</script>"
    items = IdTable("item", data.items.ids, dict.fromkeys(data.items.ids, evil))
    run = Run(replace(data, items=items, name=evil), small_run.split, small_run.model)
    text = report_html(run, users=1, items=1, k=5)
    assert text.count("<script") == 2  # the data and the code
    assert embedded(text)["facts"]["name"] == evil  # type: ignore[index]


def test_modules_can_share_one_scope() -> None:
    files = load_files()
    names = [n for m in MODULES for n in NAME.findall(files[m].body.decode())]
    assert len(names) == len(set(names))


def test_modules_are_listed_in_the_order_of_their_imports() -> None:
    files = load_files()
    for n, module in enumerate(MODULES):
        needs = re.findall(r'from "\./([\w.]+)"', files[module].body.decode())
        assert set(needs) <= set(MODULES[:n])
