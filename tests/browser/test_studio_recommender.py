"""The page about the whole recommender: relations open, a trial starts, all states are links."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from browser_pages import Studio
from playwright.sync_api import expect

from cerec.runs.run import Run
from cerec.serve.overview import audited, tried

pytestmark = pytest.mark.browser
Open = Callable[..., Studio]


def test_what_lists_depend_on(open_studio: Open, demo_url: str, demo_run: Run) -> None:
    page = open_studio(demo_url).open("#view=recommender")
    found = audited(demo_run)
    expect(page.get_by_text(found["text"])).to_be_visible(timeout=120_000)
    shown = page.locator("#depends .bars").first.locator("li")
    main = [p for p in found["parameters"] if p["share"]["value"] >= 0.0005]
    assert shown.count() == len(main)
    assert main[0]["name"] in shown.first.inner_text()
    page.get_by_role("link", name="country").click()
    assert "relation=country" in page.url
    best = max((v for v in found["values"] if v["relation"] == "country"), key=lambda v: v["share"])
    expect(page.locator("#opened")).to_contain_text("Inside country")
    expect(page.locator("#opened .bars li").first).to_contain_text(best["name"])
    rows = page.locator("#depends .sides tbody tr")
    assert rows.count() == len(found["segments"])


def test_a_trial_starts_from_the_page_and_is_a_link(
    open_studio: Open, demo_url: str, demo_run: Run
) -> None:
    page = open_studio(demo_url).open("#view=recommender")
    page.get_by_label("Attribute").select_option("language", timeout=120_000)
    page.get_by_role("button", name="Put on trial").click()
    assert "trial=language" in page.url
    text = tried(demo_run, "language")["text"]
    expect(page.locator(".trial-found .lead")).to_have_text(text, timeout=120_000)
    page.reload()
    expect(page.locator(".trial-found .lead")).to_have_text(text, timeout=120_000)
    page.go_back()
    expect(page.locator(".trial-found .lead")).to_have_count(0)
