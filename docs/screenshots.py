"""The pictures of the studio in docs/images, and on request every view to look at.

    python docs/screenshots.py                       # the two of the README
    python docs/screenshots.py --run RUN --all FOLDER    # every view, light, dark and narrow

Needs the extras `serve` and `browser` and a Chromium (`make test-browser` installs one).
"""

from __future__ import annotations

import argparse
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

import cerec
from cerec.runs.run import Run
from cerec.serve.app import create_app
from cerec.serve.report import write_report
from cerec.serve.server import Address, listen, url_of
from cerec.serve.service import Service

ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
IMAGES = Path(__file__).parent / "images"
LOOKS = {"light": (1440, 1010), "dark": (1440, 900), "narrow": (390, 844)}


@contextmanager
def serving(run: Run) -> Iterator[str]:
    listener = listen(Address(port=0))
    listener.listen()
    server = uvicorn.Server(uvicorn.Config(create_app(Service(run)), log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield url_of(listener)
    finally:
        server.should_exit = True
        thread.join()


def telling(run: Run) -> tuple[str, str, str]:
    """A user, an item explained by two changes, and an unlisted item: a story that fits a page."""
    for user in run.data.users:
        listed = run.recommend(user, 26)
        if len(run.known.row(run.data.users.row(user))) < 12 or len(listed) < 26:
            continue
        for entry in listed[2:6]:
            found = run.explain(user, entry.item, k=20)
            if len(found.changes) == 2 and all(c.before and c.after for c in found.changes):
                return user, entry.item, listed[25].item
    user = run.data.users[0]
    return user, run.recommend(user, 3)[2].item, run.recommend(user, 26)[25].item


def picture(browser: Browser, url: str, path: Path, look: str, *, change: bool = False) -> None:
    """One view as a PNG; with `change`, after switching off what lifts the item most."""
    width, height = LOOKS[look]
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if look == "dark" else "light",
        reduced_motion="reduce",
    )
    page.goto(url)
    page.wait_for_load_state("networkidle")
    if change:
        switch_off(page)
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    whole = look == "narrow" or "run" in path.stem or "report" in path.stem
    page.screenshot(path=path, full_page=whole)
    page.close()


def switch_off(page: Page) -> None:
    page.locator(".switch").first.click()
    page.locator(".verdict").wait_for()
    page.locator(".switch[aria-checked=true]").first.click()
    page.wait_for_load_state("networkidle")


def every_view(run: Run, browser: Browser, url: str, folder: Path) -> None:
    user, item, missing = telling(run)
    views = {
        "start": "",
        "list": f"#user={user}",
        "why": f"#user={user}&item={item}",
        "why-not": f"#user={user}&item={missing}&not=1",
        "what-if": f"#user={user}&item={item}&tab=what-if",
        "run": "#view=run",
        "unknown-user": f"#user={user}x",
    }
    folder.mkdir(parents=True, exist_ok=True)
    report = write_report(run, folder / "report.html").resolve().as_uri()
    for look in LOOKS:
        for name, address in views.items():
            place = folder / f"{name}-{look}.png"
            picture(browser, url + address, place, look, change=name == "what-if")
        picture(browser, report, folder / f"report-{look}.png", look)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", help="a run folder; the demo is trained otherwise")
    parser.add_argument("--all", type=Path, help="write every view to this folder instead")
    given = parser.parse_args()
    run = cerec.open(given.run) if given.run else cerec.train(cerec.load("demo"), seed=0)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with serving(run) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        if given.all:
            every_view(run, browser, url, given.all)
        else:
            IMAGES.mkdir(exist_ok=True)
            user, item, _ = telling(run)
            why, what_if = f"#user={user}&item={item}", f"#user={user}&item={item}&tab=what-if"
            picture(browser, url + why, IMAGES / "studio-why.png", "light")
            picture(browser, url + what_if, IMAGES / "studio-what-if.png", "dark", change=True)
        browser.close()


if __name__ == "__main__":
    main()
