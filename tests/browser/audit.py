"""Checks of roles, labels and contrast, in the manner of axe, run inside the page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AUDIT = Path(__file__).with_name("audit.js").read_text()


def audit(page: Page) -> list[str]:
    """What a reader of the page would stumble over; empty when nothing."""
    page.wait_for_timeout(250)  # transitions end
    return list(page.evaluate(AUDIT))
