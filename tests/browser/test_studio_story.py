"""The whole story, clicked through in a real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from browser_pages import Studio, shown_list
from playwright.sync_api import Page, expect

from cerec.data.load import load
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.serve.service import Service
from cerec.settings.data import FilterConfig
from live_server import listening
from worlds import QUICK

pytestmark = pytest.mark.browser
Open = Callable[..., Studio]
OPTION = ".options .option:visible"


def story(studio: Studio, run: Run) -> None:
    page = studio.open()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    user = choose_user(page, run)
    listed = run.recommend(user, 20)
    assert shown_list(page) == [(r.rank, r.name) for r in listed]
    known = run.known.row(run.data.users.row(user))
    expect(page.locator(".history li")).to_have_count(min(100, len(known)))
    item = next(r.item for r in listed if run.explain(user, r.item, k=20).status == "verified")
    ask_why(page, run, user, item)
    copy_everything(page, run, user, item)
    lock_a_relation(page, run, user, item)
    change_attributes(page, run, user, item)
    ask_why_not(page, run, user)
    look_at_the_run(page, run)


def choose_user(page: Page, run: Run) -> str:
    user = run.data.users[len(run.data.users) // 2]
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Find a user")).to_be_focused()
    page.keyboard.type(user)
    expect(page.locator(OPTION).first).to_contain_text(
        run.data.users.name(run.data.users.row(user))
    )
    page.keyboard.press("Enter")
    page.wait_for_load_state("networkidle")
    expect(page.locator(".person-name")).to_have_text(run.data.users.name(run.data.users.row(user)))
    return user


def ask_why(page: Page, run: Run, user: str, item: str) -> None:
    page.locator(f'li[data-item="{item}"] button').click()
    expected = run.explain(user, item, k=20, alternatives=3, budget=2.0)
    plain = re.sub(r"\*(.+?)\*", r"\1", expected.text)
    expect(page.locator(".card .sentence")).to_have_text(plain)
    expect(page.locator(".card .change")).to_have_count(len(expected.changes))
    first = expected.changes[0]
    expect(page.locator(".card .change .before").first).to_have_text(
        first.before_name or "not there"
    )
    expect(page.locator(".card .change .after").first).to_have_text(first.after_name or "removed")
    words = f"rank {expected.rank_before} becomes {expected.rank_after}; the list ends at rank 20"
    expect(page.get_by_role("img", name=words)).to_be_visible()
    graph = page.locator(".graph svg")
    for step in expected.path:
        for part in (step.item.name, step.relation.name, step.attribute.name, step.to_item.name):
            assert part in (graph.get_attribute("aria-label") or "")
    ways = page.locator(".way")
    expect(ways).to_have_count(1 + len(expected.alternatives) if expected.alternatives else 0)
    if expected.alternatives:
        ways.nth(1).click()
        other = re.sub(r"\*(.+?)\*", r"\1", expected.alternatives[0].text)
        expect(page.locator(".card .sentence")).to_have_text(other)
        page.locator(".way").first.click()
    expect(page.locator(".card .sentence")).to_have_text(plain)


def copy_everything(page: Page, run: Run, user: str, item: str) -> None:
    expected = run.explain(user, item, k=20, alternatives=3, budget=2.0)

    def copied(name: str) -> str:
        page.get_by_role("group", name="Copy").get_by_role("button", name=name).click()
        expect(page.locator(".toast.shown")).to_contain_text(f"{name} copied")
        return str(page.evaluate("navigator.clipboard.readText()"))

    assert copied("Link") == page.url
    assert json.loads(copied("JSON"))["text"] == expected.text
    assert copied("Text").startswith(expected.text.replace("*", ""))
    again = page.context.new_page()
    again.goto(page.url)
    shown = page.locator(".card .sentence").inner_text()
    expect(again.locator(".card .sentence")).to_have_text(shown)
    again.close()


def lock_a_relation(page: Page, run: Run, user: str, item: str) -> None:
    relation = run.explain(user, item, k=20).changes[0]
    button = page.get_by_role("button", name=f"Keep {relation.relation_name} as it is", exact=True)
    button.click()
    expected = run.explain(user, item, k=20, lock=(relation.relation,), alternatives=3, budget=2.0)
    expect(page.locator(".card .sentence")).to_have_text(re.sub(r"\*(.+?)\*", r"\1", expected.text))
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def change_attributes(page: Page, run: Run, user: str, item: str) -> None:
    page.get_by_role("tab", name="What if?").click()
    own = run.attributes(item)
    switches = page.locator(".switch")
    expect(switches.first).to_be_visible()
    label = switches.first.get_attribute("aria-label") or ""
    data = run.data
    names = [
        f"{data.relations.name(data.relations.row(r))}: {data.entities.name(data.entities.row(a))}"
        for r, a in own
    ]
    gone = own[names.index(label)]
    with page.expect_response("**/v1/what-if"):
        switches.first.click()
    compare(page, run, user, item, [p for p in own if p != gone])
    # back on, then another value in its place
    page.get_by_role("switch", name=label).click()
    expect(page.locator(".ranking-note")).to_be_hidden()
    assert shown_list(page) == [(r.rank, r.name) for r in run.recommend(user, 20)]
    name = data.entities.name(data.entities.row(gone[1]))
    page.get_by_role("button", name=f"Replace {name}", exact=True).first.click()
    option = page.locator(OPTION).nth(3)
    chosen = option.locator(".option-name").inner_text()
    with page.expect_response("**/v1/what-if") as response:
        option.click()
    asked = [tuple(p) for p in json.loads(response.value.request.post_data or "")["attributes"]]
    assert gone not in asked
    compare(page, run, user, item, asked)
    expect(page.locator(".attribute .would").first).to_have_text(chosen)
    page.reload()
    expect(page.locator(".attribute .would").first).to_have_text(chosen)
    compare(page, run, user, item, asked)
    page.get_by_role("button", name="Start again").click()
    expect(page.locator(".ranking-note")).to_be_hidden()


def compare(page: Page, run: Run, user: str, item: str, attributes: list[tuple[str, str]]) -> None:
    """The page shows what `run.what_if` says: list, movement and rank."""
    expected = run.what_if(user, item, attributes, k=20)
    words = f"Rank {expected.rank_before} → {expected.rank_after}"
    expect(page.locator(".verdict b")).to_have_text(words.replace(",", ""))
    expect(page.locator(".ranking-note")).to_be_visible()
    assert shown_list(page) == [(r.rank, r.name) for r in expected.list]
    before = {r.item: r.rank for r in run.recommend(user, 20)}
    for entry in expected.list:
        move = page.locator(f'li[data-item="{entry.item}"] .row-move')
        if entry.item not in before:
            expect(move).to_have_text("new")
        elif before[entry.item] != entry.rank:
            way = before[entry.item] - entry.rank
            expect(move).to_contain_text(f"{'up' if way > 0 else 'down'} {abs(way)}")
        else:
            expect(move).to_have_text("")


def ask_why_not(page: Page, run: Run, user: str) -> None:
    unlisted = run.recommend(user, 30)[27]
    page.get_by_role("combobox", name="Why not another item?").fill(unlisted.item)
    page.locator(OPTION).first.click()
    expected = run.explain(user, why_not=unlisted.item, k=20, alternatives=3, budget=2.0)
    expect(page.get_by_role("tab", name="Why not?")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".card .sentence")).to_have_text(re.sub(r"\*(.+?)\*", r"\1", expected.text))
    page.go_back()
    expect(page.get_by_role("tab", name="What if?")).to_have_attribute("aria-selected", "true")


def look_at_the_run(page: Page, run: Run) -> None:
    page.get_by_role("link", name="The run").click()
    title = page.get_by_role("heading", level=1, name=run.data.name)
    expect(title).to_be_visible(timeout=60_000)
    for title in ("Data", "Training", "Explanations", "Settings"):
        expect(page.get_by_role("heading", level=2, name=title, exact=True)).to_be_visible()
    expect(page.locator(".curve svg").first).to_be_visible()
    expect(page.locator(".ring")).to_be_visible()
    expect(page.locator(".columns .column").first).to_be_visible()
    page.get_by_role("link", name="The recommender").click()
    title = page.get_by_role("heading", level=2, name="What the lists depend on")
    expect(title).to_be_visible(timeout=60_000)
    expect(page.locator("#depends .bars li").first).to_be_visible()
    page.get_by_role("link", name="Explore").click()
    expect(page.locator(".person-name")).to_be_visible()


def test_the_story_on_the_demo(open_studio: Open, demo_url: str, demo_run: Run) -> None:
    story(open_studio(demo_url), demo_run)


@pytest.mark.data
def test_the_story_on_ml_1m(open_studio: Open, real_data: Path) -> None:
    # links between wiki pages and types are four fifths of the facts and say little
    config = replace(QUICK, filters=FilterConfig(leave_out=("wiki*", "type*")))
    run = train(load(real_data / "ml-1m"), config, seed=0)
    with listening(Service(run)) as (url, _):
        story(open_studio(url), run)
