"""The page of a protected service asks for the token."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from audit import audit
from browser_pages import Studio
from playwright.sync_api import expect

from cerec.runs.run import Run
from cerec.serve.guard import Access
from cerec.serve.service import Service
from live_server import listening

pytestmark = pytest.mark.browser
TOKEN = "a-token-of-some-length"


def test_the_token_is_asked_for_and_kept(open_studio: Callable[..., Studio], demo_run: Run) -> None:
    access = Access(token=TOKEN)
    with listening(Service(demo_run), access=access) as (url, _):
        studio = open_studio(url)
        page = studio.open()
        expect(page.get_by_text("This run is protected")).to_be_visible()
        assert audit(page) == []
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator(".person-pick").first).to_be_visible()
        page.reload()
        expect(page.locator(".person-pick").first).to_be_visible()
        studio.errors[:] = [e for e in studio.errors if "401" not in e]
