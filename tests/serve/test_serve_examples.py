"""The examples of the guide and the notebook, asked of a real server."""

from __future__ import annotations

import http.client
import json
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cerec.runs.run import Run
from cerec.serve.service import Service
from live_server import listening

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guide/serving.md").read_text(encoding="utf-8")
CURLS = re.findall(r"^curl .*$", GUIDE, re.MULTILINE)


def test_every_curl_of_the_guide_answers(service: Service, small_run: Run) -> None:
    assert len(CURLS) >= 7
    user = small_run.data.users[0]
    listed = small_run.recommend(user, 20)
    relation, attribute = small_run.attributes(listed[0].item)[0]
    own = {  # the guide's ids are those of the demo
        "u001": user,
        "m001": listed[0].item,
        "m002": listed[-1].item,
        "genre:comedy": attribute,
        "genre": relation,
    }
    with listening(service) as (url, _):
        to = urlsplit(url)
        for line in CURLS:
            words = shlex.split(re.sub("|".join(own), lambda m: own[m[0]], line))
            target = urlsplit(next(w for w in words if w.startswith("http")))
            body = words[words.index("-d") + 1] if "-d" in words else None
            connection = http.client.HTTPConnection(str(to.hostname), to.port, timeout=60)
            connection.request(
                "POST" if body else "GET",
                f"{target.path}?{target.query}",
                body,
                {"Content-Type": "application/json"} if body else {},
            )
            answer = connection.getresponse()
            assert answer.status == 200, (line, answer.read())
            connection.close()


def test_the_notebook_runs(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = json.loads((ROOT / "examples/ask-the-service.ipynb").read_text())["cells"]
    with listening(service) as (url, _):
        monkeypatch.setenv("CEREC_URL", url)
        scope: dict[str, object] = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), scope)
    assert capsys.readouterr().out.rstrip().endswith("as promised")
    assert "not as promised" not in capsys.readouterr().out
