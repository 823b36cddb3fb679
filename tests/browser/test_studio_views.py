"""Every view by roles, labels and contrast; hard names; states of waiting, emptiness and error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from audit import audit
from browser_pages import Studio, shown_list
from hard_world import BARE, FULL, MANY, NAMES, NEW, hard_run
from playwright.sync_api import expect

from cerec.runs.run import Run
from cerec.serve.report import write_report
from cerec.serve.service import Service
from live_server import listening

pytestmark = pytest.mark.browser
Open = Callable[..., Studio]
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"width": 360, "height": 740},
    "tablet": {"width": 1000, "height": 760, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def hard() -> Run:
    return hard_run()


@pytest.fixture(scope="module")
def hard_url(hard: Run) -> Iterator[str]:
    with listening(Service(hard)) as (url, _):
        yield url


def addresses(run: Run) -> list[str]:
    user = run.data.users[3]
    item = run.recommend(user, 5)[2].item
    return [
        "",
        f"#user={user}",
        f"#user={user}&item={item}",
        f"#user={user}&item={item}&tab=what-if",
        "#view=recommender&relation=decade&trial=decade",
        "#view=run",
    ]


@pytest.mark.parametrize("look", LOOKS)
def test_roles_labels_and_contrast(
    open_studio: Open, demo_url: str, demo_run: Run, look: str
) -> None:
    studio = open_studio(demo_url, **LOOKS[look])
    for address in addresses(demo_run):
        page = studio.open()
        page.goto(demo_url + address)
        page.wait_for_load_state("networkidle")
        if "what-if" in address:
            page.locator(".switch").first.click()
            expect(page.locator(".verdict")).to_be_visible()
            page.locator(".add").first.click()
            expect(page.locator(".options .option:visible").first).to_be_visible()
        assert audit(page) == [], address


def test_themes_can_be_chosen_and_are_kept(open_studio: Open, demo_url: str) -> None:
    page = open_studio(demo_url, color_scheme="light").open()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Colour theme: automatic").click()
    page.get_by_role("button", name="Colour theme: light").click()
    page.get_by_role("button", name="Colour theme: dark").wait_for()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert audit(page) == []


def test_the_list_is_walked_by_keys(open_studio: Open, demo_url: str, demo_run: Run) -> None:
    user = demo_run.data.users[0]
    page = open_studio(demo_url).open(f"#user={user}")
    names = [name for _, name in shown_list(page)]
    page.locator(".rows button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".panel-title")).to_have_text(names[1])
    tab = page.get_by_role("tab", name="Why this?")
    tab.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="What if?")).to_be_focused()
    first = page.locator(".switch").first
    first.focus()
    page.keyboard.press("Space")
    expect(page.locator(".verdict")).to_be_visible()
    expect(page.get_by_role("status").first).to_contain_text("becomes")


def test_length_of_the_list(open_studio: Open, demo_url: str, demo_run: Run) -> None:
    user = demo_run.data.users[0]
    page = open_studio(demo_url).open(f"#user={user}")
    page.get_by_label("Show").select_option("50")
    expect(page.locator(".rows li")).to_have_count(50)
    assert shown_list(page) == [(r.rank, r.name) for r in demo_run.recommend(user, 50)]


@pytest.mark.parametrize("width", [360, 1440])
def test_hard_names_are_text(open_studio: Open, hard_url: str, hard: Run, width: int) -> None:
    studio = open_studio(hard_url, width=width)
    studio.page.on("dialog", lambda _: studio.errors.append("a script in a name ran"))
    page = studio.open()
    assert audit(page) == []
    for user in ("a/b?c=d&e#f", "..", "plain"):
        page = studio.open()
        page.get_by_role("combobox", name="Find a user").fill(user)
        page.locator(".options .option:visible").first.click()
        expect(page.locator(".rows li").first).to_be_visible()
        listed = hard.recommend(user, 20)
        expect(page.locator(".row-name").first).to_have_text(listed[0].name)
        assert audit(page) == []
        for entry in [r for r in listed if r.item in NAMES][:4]:
            page.locator(f'li[data-item="{entry.item}"] button').click()
            expect(page.locator(".panel-title")).to_have_text(entry.name)
            expect(page.locator(".card .sentence")).to_be_visible()
            assert audit(page) == []
    page.get_by_role("link", name="The run").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("<u>hard</u>")
    assert audit(page) == []


def test_thousands_of_attributes(open_studio: Open, hard_url: str) -> None:
    page = open_studio(hard_url).open("#user=plain&item=i0&tab=what-if&k=5")
    expect(page.get_by_role("heading", name=f"What is known of it ({MANY:,})")).to_be_visible()
    assert page.locator(".attribute").count() < 50
    page.get_by_role("searchbox", name="Filter attributes").fill("e299")
    expect(page.locator(".attribute")).to_have_count(6)
    page.get_by_role("button", name="Show 5 more").click()
    expect(page.locator(".attribute")).to_have_count(11)  # e299, e2990 ... e2999
    with page.expect_response("**/v1/what-if") as response:
        page.locator(".switch").first.click()
    assert response.value.ok


def test_states_of_emptiness(open_studio: Open, hard_url: str, hard: Run) -> None:
    page = open_studio(hard_url).open(f"#user={NEW}")
    expect(page.get_by_text("Nothing yet: this user is new")).to_be_visible()
    assert audit(page) == []
    page.goto(f"{hard_url}#user={FULL}")
    page.reload()
    expect(page.get_by_text("This user has taken every item there is.")).to_be_visible()
    assert audit(page) == []
    question = "" if hard.rank("plain", BARE) <= 20 else "&not=1"
    page.goto(f"{hard_url}#user=plain&item={BARE}{question}")
    page.reload()
    expect(page.get_by_text("Nothing known to change")).to_be_visible()
    page.get_by_role("tab", name="What if?").click()
    expect(page.get_by_text("This item has no attributes")).to_be_visible()
    assert audit(page) == []


def test_an_unknown_user_gets_near_matches(open_studio: Open, demo_url: str, demo_run: Run) -> None:
    studio = open_studio(demo_url)
    user = demo_run.data.users[10]
    page = studio.open(f"#user={user}x")
    expect(page.get_by_role("alert")).to_contain_text(f"Unknown user '{user}x'")
    assert audit(page) == []
    page.get_by_role("button", name=user, exact=True).click()
    expect(page.locator(".person-name")).to_have_text(user)
    studio.errors[:] = [e for e in studio.errors if "404" not in e]  # Chromium notes each of them


def test_an_unlisted_item_offers_why_not(open_studio: Open, demo_url: str, demo_run: Run) -> None:
    user = demo_run.data.users[2]
    item = demo_run.recommend(user, 40)[35].item
    page = open_studio(demo_url).open(f"#user={user}&item={item}")
    expect(page.get_by_text("Not in the list")).to_be_visible()
    page.get_by_role("button", name="Ask why not").click()
    expect(page.get_by_role("tab", name="Why not?")).to_be_visible()
    expect(page.locator(".seal.good")).to_be_visible()


def test_a_service_that_is_gone_is_said(open_studio: Open, demo_url: str) -> None:
    studio = open_studio(demo_url)
    page = studio.open()
    page.route("**/v1/**", lambda route: route.abort())
    page.locator(".person-pick").first.click()
    expect(page.get_by_role("alert").first).to_contain_text("Is cerec serve still running?")
    assert audit(page) == []
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").first.click()
    expect(page.locator(".rows li").first).to_be_visible()
    studio.errors.clear()


def test_the_report_stands_alone(
    open_studio: Open, demo_run: Run, hard: Run, tmp_path: Path
) -> None:
    for look, run in (("light", demo_run), ("dark", demo_run), ("narrow", hard)):
        path = write_report(run, tmp_path / f"{look}.html", users=2, items=2)
        studio = open_studio(path.as_uri(), **LOOKS[look])
        page = studio.open()
        expect(page.get_by_role("heading", level=1)).to_have_text(run.data.name)
        assert page.locator(".report-user").count() == 2
        assert page.locator(".sentence").count() >= 2
        assert audit(page) == []


def test_the_audit_sees_what_is_wrong(open_studio: Open, demo_url: str) -> None:
    page = open_studio(demo_url).open()
    page.evaluate(
        """() => {
          const bad = document.createElement("div");
          const pale = document.createElement("p");
          pale.textContent = "pale"; pale.style.color = "#aaa"; pale.style.background = "#fff";
          const button = document.createElement("button");
          const option = document.createElement("span"); option.setAttribute("role", "option");
          const wide = document.createElement("div");
          wide.style.width = "3000px";
          wide.style.height = "9px";
          const twice = document.createElement("i"); twice.id = "main";
          bad.append(pale, button, option, wide, twice);
          document.querySelector("main").append(bad);
        }"""
    )
    found = " | ".join(audit(page))
    for words in (
        "contrast 2.3",
        "no name: button",
        "option outside",
        "sideways",
        "id twice: main",
    ):
        assert words in found
