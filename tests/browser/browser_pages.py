"""A page that watches for errors and for requests to elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass
class Studio:
    """An open page, its server's address, and what went wrong in it."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def watch(self) -> None:
        def request(asked: Any) -> None:
            if urlsplit(asked.url).hostname not in {"127.0.0.1", None}:
                self.elsewhere.append(asked.url)

        def said(message: Any) -> None:
            if message.type in {"error", "warning"}:
                self.errors.append(message.text)

        self.page.on("request", request)
        self.page.on("console", said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, address: str = "") -> Page:
        self.page.goto(self.url + address)
        self.page.wait_for_load_state("networkidle")
        return self.page


def shown_list(page: Page) -> list[tuple[int, str]]:
    """(rank, name) of every row of the list."""
    return [
        (int(row.locator(".row-rank").inner_text()), row.locator(".row-name").inner_text())
        for row in page.locator(".rows li").all()
    ]
