"""Fixtures of the browser tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("playwright")
pytest.importorskip("fastapi")

from browser_pages import ARGS, Studio
from playwright.sync_api import Browser, sync_playwright

from cerec.data.synthetic.generate import demo
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.serve.limits import Limits
from cerec.serve.service import Service
from cerec.settings.run import RunConfig
from live_server import listening


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on this machine; `make test-browser` installs it")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def demo_run() -> Run:
    return train(
        demo(), RunConfig.of({"model": {"agent": True}, "train": {"agent_epochs": 2}}), seed=0
    )


@pytest.fixture(scope="session")
def demo_url(demo_run: Run) -> Iterator[str]:
    with listening(Service(demo_run), limits=Limits(seconds=120.0)) as (url, _):
        yield url


@pytest.fixture
def open_studio(browser: Browser) -> Iterator[Callable[..., Studio]]:
    """Makes studios; afterwards no error was logged and nothing outside was asked."""
    made: list[Studio] = []

    def make(url: str, width: int = 1440, height: int = 900, **options: Any) -> Studio:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(15_000)
        made.append(Studio(context.new_page(), url))
        made[-1].watch()
        return made[-1]

    yield make
    for studio in made:
        studio.page.context.close()
        assert studio.errors == []
        assert studio.elsewhere == []
