"""axe finds nothing on any page, in light and dark mode; pages work zoomed to 400 % and in forced colours."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.routing import APIRoute
from playwright.sync_api import Browser, Page, expect

from browser.annotating import expect_saved, go_by, open_fact, press
from browser.conftest import Served
from browser.visit import serving, signed_in
from sayso.serve.app import ROUTERS
from sayso.serve.server import ServeSettings
from sayso.store.store import Store
from toy_extraction import CONTRADICTING, HOSTILE_FACT, NEW, ids, write_found
from toy_predictions import make_run_folder
from toy_workbench import make_settings

pytestmark = pytest.mark.slow

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
FACT = "bag=1&relation=capital"
PAGES = {
    "/sign-in": ["/sign-in"],
    "/": ["/"],
    "/people": ["/people"],
    "/annotate": ["/annotate", "/annotate?done=1"],
    "/annotate/fact": [f"/annotate/fact?{FACT}", "/annotate/fact?bag=6&relation=capital"],
    "/annotate/queue": ["/annotate/queue"],
    "/annotate/guideline": ["/annotate/guideline"],
    "/annotate/pilot": ["/annotate/pilot"],
    "/agreement": ["/agreement"],
    "/agreement/fact": [f"/agreement/fact?{FACT}"],
    "/predictions/{run}": ["/predictions/run?min_probability=0.2", "/predictions/run?q=nowhere"],
    "/predictions/{run}/fact": [f"/predictions/run/fact?{FACT}&view=both"],
    "/predictions/{run}/curve": ["/predictions/run/curve?point=1"],
    "/compare/facts": ["/compare/facts?left=run&right=other"],
    "/compare": [f"/compare?left=run&right=other&{FACT}"],
    "/review/{facts}": ["/review/news?decision=any", "/review/news?decision=any&group=sentence", "/review/news?q=none"],
    "/review/{facts}/fact": [
        f"/review/news/fact?{urlencode(ids(each))}" for each in (NEW[0], CONTRADICTING, HOSTILE_FACT)
    ],
    "/review/{facts}/document": ["/review/news/document?id=d&start=0&stop=4"],
    "/try": ["/try", f"/try?run=run&{FACT}"],
    "/decisions": ["/decisions", "/decisions?decision=rejected&undone=nothing"],
    "/api": ["/api"],
}
"""Every page of the workbench, by its route."""
NO_PAGES = {
    "/enter", "/predictions", "/review", "/decisions/files/{form}", "/agreement/files/{form}", "/agreement/comments",
    "/annotate/relations.tsv", "/api/openapi.json",
}  # fmt: skip
"""Redirects, and what is no page."""


def findings(page: Page) -> list[str]:
    """Return what axe finds."""
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run()")
    return [
        f"{page.url}: {each['id']} ({each['impact']}): {node['html'][:200]}: {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a workbench with two runs, extracted facts, their documents, and a decision."""
    folder = tmp_path_factory.mktemp("everything")
    settings: ServeSettings = make_settings(folder, leads=("Ada",))
    other = make_run_folder(folder / "other", Store(settings.data), seed=1)
    (folder / "docs.jsonl").write_text(json.dumps({"id": "d", "text": "One. Two. Three."}) + "\n")
    facts, documents = (write_found(folder / "news"),), folder / "docs.jsonl"
    with serving(replace(settings, runs=(*settings.runs, other), facts=facts, documents=documents)) as url:
        yield url


def test_every_page_is_visited_here() -> None:
    routes = {
        route.path
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in route.methods and not route.include_in_schema
    }
    assert routes - NO_PAGES == set(PAGES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(browser: Browser, everything: str, scheme: Any) -> None:
    with signed_in(browser, everything, scheme=scheme) as page:
        page.goto(PAGES["/review/{facts}/fact"][0])
        page.keyboard.press("a")
        expect(page.locator(".toast")).to_contain_text("accepted")
        found = []
        for address in (*(each for pages in PAGES.values() for each in pages), "/nowhere"):
            page.goto(address)
            page.wait_for_load_state("load")
            found += findings(page)
        page.goto("/annotate/queue")
        page.get_by_label("Pilot round").fill("3")
        page.get_by_role("button", name="Save").click()
        page.wait_for_load_state("load")
        found += findings(page)
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in")
        found += findings(page)
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_while_facts_are_marked_and_settled(workbench: Served, sign_in, scheme: str) -> None:
    ada, ben = (sign_in(workbench.url, name, color_scheme=scheme) for name in ("Ada", "Ben"))
    found = []
    for page, keys in ((ada, "riu"), (ben, "rrr")):
        open_fact(page, workbench.url, 1)
        press(page, keys)
        expect_saved(page)
        found += findings(page)
        go_by(page, "n")
    open_fact(ada, workbench.url, 1)
    found += findings(ada)
    ada.keyboard.press("?")
    found += findings(ada)
    for address in ("/agreement", f"/agreement/fact?{FACT}"):
        ada.goto(workbench.url + address)
        found += findings(ada)
    assert found == []


def test_a_page_zoomed_to_400_percent_can_be_read_and_used(browser: Browser, everything: str) -> None:
    with signed_in(browser, everything, width=320) as page:
        page.set_viewport_size({"width": 320, "height": 256})  # 1280 by 1024, four times as large
        for address in (each for pages in PAGES.values() for each in pages):
            page.goto(address)
            page.wait_for_load_state("load")
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, f"{address} is wider than the screen"
        page.goto(PAGES["/annotate/fact"][0])
        expect(page.locator("li.current")).to_be_focused()
        sentence = page.locator("li.current .sentence")
        sentence.scroll_into_view_if_needed()
        uncovered = "({ x, y }) => e.contains(document.elementFromPoint(x + 5, y + 5))"
        assert sentence.evaluate(f"e => ({uncovered})(e.getBoundingClientRect())"), "nothing covers the sentence"
        page.get_by_role("button", name="rationale").first.click()
        expect_saved(page)


def test_what_is_chosen_is_visible_in_forced_colours(browser: Browser, everything: str) -> None:
    with browser.new_context(base_url=everything, forced_colors="active") as context:
        page = context.new_page()
        page.goto("/sign-in")
        page.fill("input[name=name]", "Bo")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{everything}/")
        page.goto(PAGES["/annotate/fact"][0])
        page.keyboard.press("r")
        expect_saved(page)
        colour = "e => getComputedStyle(e).backgroundColor"
        pressed, other = (page.locator(f"button[aria-pressed={each}]").first for each in ("true", "false"))
        assert pressed.evaluate(colour) != other.evaluate(colour)
        here, elsewhere = (
            page.locator(f".top nav a{each}").first for each in ("[aria-current]", ":not([aria-current])")
        )
        assert here.evaluate(colour) != elsewhere.evaluate(colour)


def test_a_printed_fact_has_its_sentences_and_nothing_to_press(browser: Browser, everything: str) -> None:
    with signed_in(browser, everything, scheme="dark") as page:
        page.goto(PAGES["/annotate/fact"][0])
        page.keyboard.press("r")
        expect_saved(page)
        for address in (PAGES["/annotate/fact"][0], PAGES["/review/{facts}/fact"][0], "/review/news?decision=any"):
            page.goto(address)
            page.emulate_media(media="print", color_scheme="dark")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            for gone in (".top", ".foot", "nav", "kbd", "form", "textarea", "section.bar"):
                assert page.locator(f"{gone}:visible").all_inner_texts() == [], f"{gone} on {address}"
            printed = page.locator("button:visible").all_inner_texts()
            assert all(each.strip() == "rationale" for each in printed)
            assert page.locator(".sentence:visible, table.facts td:visible").count() >= 2
            page.emulate_media(media="screen", color_scheme="dark")
