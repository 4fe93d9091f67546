"""Review in a real browser, by keyboard: from the list of extracted facts to the file of accepted ones."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.visit import serving, signed_in
from sayso.serve.server import ServeSettings
from toy_extraction import CONTRADICTING, FACTS, HOSTILE_FACT, NEW, ids, write_found
from toy_workbench import make_settings

pytestmark = pytest.mark.slow

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
BADGE = ".decide .badge"
LEFT = {
    "method": "POST",
    "path": "/api/review/news/decisions",
    "body": {**ids(NEW[0]), "decision": "rejected", "key": "left over"},
}
"""What a page has left to be sent."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    """A store without a run, and two extractions."""
    folder = tmp_path_factory.mktemp("found")
    facts = (write_found(folder / "news"), write_found(folder / "more"))
    return replace(make_settings(folder, with_run=False), facts=facts)


@pytest.fixture
def address(opened: ServeSettings, tmp_path: Path) -> Iterator[str]:
    with serving(replace(opened, database=tmp_path / "marks.db")) as url:
        yield url


def press(page: Page, key: str) -> None:
    """Press a key once the page is ready."""
    page.wait_for_load_state("load")
    page.keyboard.press(key)


def test_from_the_list_to_the_file_of_accepted_facts_by_keyboard(browser: Browser, address: str) -> None:
    with signed_in(browser, address) as page:
        open_by_keyboard(page)
        decide_by_keyboard(page)
        page.locator(".crumbs a").first.click()
        expect(page.get_by_role("status")).to_contain_text(f"of {len(FACTS) - 1} facts ({len(FACTS)} in total)")
        page.goto("/decisions")
        expect(page.get_by_role("link", name="1 accepted")).to_be_visible()
        expect(page.get_by_role("link", name="0 rejected")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("link", name="accepted.jsonld").click()
        collection = json.loads(Path(download.value.path()).read_text())
        assert collection["total"] == 1
        assert collection["first"]["items"][0]["body"][0]["rdf:subject"]["label"] == "north_land0"
        press(page, "j")
        press(page, "Enter")
        page.wait_for_url("**/review/news/fact?**")
        expect(page.locator(BADGE)).to_have_text("accepted")


def open_by_keyboard(page: Page) -> None:
    """Open the first fact in the list, and move to its first sentence."""
    page.goto("/review")
    expect(page.get_by_role("status")).to_have_text(f"1–{len(FACTS)} of {len(FACTS)} facts")
    press(page, "j")
    expect(page.locator("a.open").first).to_be_focused()
    press(page, "Enter")
    page.wait_for_url("**/review/news/fact?**")
    expect(page.get_by_role("heading", level=1)).to_contain_text("north land0")
    press(page, "j")
    expect(page.locator(".evidence").first).to_be_focused()


def decide_by_keyboard(page: Page) -> None:
    """Accept a fact, reject the next one, go back, and undo the last decision."""
    number = page.locator(".crumbs .number")
    press(page, "a")
    expect(page.locator(BADGE)).to_have_text("accepted")
    expect(number).to_have_text(f"1 of {len(FACTS)}")
    press(page, "n")
    expect(number).to_have_text(f"2 of {len(FACTS)}")
    page.get_by_label("Reason").fill("it is <b>not</b> told")
    page.get_by_label("Reason").blur()
    press(page, "x")
    expect(page.locator(BADGE)).to_have_text("rejected")
    expect(page.locator(".decide .reason")).to_have_text("it is <b>not</b> told")
    press(page, "p")
    expect(page.locator(BADGE)).to_have_text("accepted")
    press(page, "z")
    expect(number).to_have_text(f"2 of {len(FACTS)}")
    expect(page.locator(BADGE)).to_have_count(0)


def test_no_key_is_lost_and_each_decides_on_the_fact_on_the_screen(browser: Browser, address: str) -> None:
    with signed_in(browser, address) as page:
        open_by_keyboard(page)
        # As fast as the browser accepts them, with every response delayed.
        page.route("**/api/review/**", lambda route: (time.sleep(0.1), route.continue_()))
        for key in "anxnenaz":
            page.keyboard.press(key)
        expect(page.locator(".crumbs .number")).to_have_text(f"4 of {len(FACTS)}")
        expect(page.locator(BADGE)).to_have_count(0)
        page.goto("/decisions")
        expect(page.locator("ul.decisions .badge")).to_have_text(["needs evidence", "rejected", "accepted"])
        names = page.locator("ul.decisions .pair").all_inner_texts()
        assert [name.split("land")[1][0] for name in names] == ["2", "1", "0"]


def test_decisions_made_while_the_server_is_away_are_kept_and_sent(
    browser: Browser, opened: ServeSettings, tmp_path: Path
) -> None:
    settings = replace(opened, database=tmp_path / "marks.db")
    with serving(settings) as url:
        context = browser.new_context(base_url=url)
        page = context.new_page()
        page.goto("/sign-in")
        page.locator("input[name=name]").fill("Ada")
        page.keyboard.press("Enter")
        page.wait_for_url("**/review/**")
        open_by_keyboard(page)
    page.keyboard.press("a")
    expect(page.locator(".state")).to_contain_text("is not responding")
    expect(page.locator(BADGE)).to_have_text("accepted")
    with serving(settings, port=int(url.rpartition(":")[2])):
        expect(page.locator(".state")).to_be_hidden()
        expect(page.locator(".decide [role=status]")).to_contain_text("accepted by Ada")
        page.evaluate("localStorage['sayso-decisions/Ada/000-k'] = JSON.stringify(" + json.dumps(LEFT) + ")")
        page.reload()
        expect(page.locator(BADGE)).to_have_text("rejected")
        assert page.evaluate("Object.keys(localStorage).length") == 0
    context.close()


def shown(page: Page) -> Iterator[str]:
    """Visit the Review pages, including those of hostile and decided facts."""
    hostile = f"/review/news/fact?{urlencode(ids(HOSTILE_FACT))}"
    page.goto(hostile)
    press(page, "a")
    expect(page.locator(BADGE)).to_have_text("accepted")
    for each in (
        "/review/news?decision=any",
        "/review/more?min_probability=0.2",
        hostile,
        f"/review/news/fact?{urlencode(ids(CONTRADICTING))}",
        "/decisions",
    ):
        page.goto(each)
        page.wait_for_load_state("load")
        yield each


@pytest.mark.parametrize("width", [400, 1280])
def test_hostile_text_stays_text_and_inside_the_page(browser: Browser, address: str, width: int) -> None:
    with signed_in(browser, address, width) as page:
        for each in shown(page):
            assert page.evaluate("document.documentElement.scrollWidth") <= width, each
        page.goto(f"/review/news/fact?{urlencode(ids(HOSTILE_FACT))}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("<i>land</i>")
        expect(page.locator(".read").filter(has_text="<script>alert(1)</script>")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_serious_accessibility_problem(browser: Browser, address: str, scheme: str) -> None:
    with signed_in(browser, address, scheme=scheme) as page:  # type: ignore[arg-type]
        for each in shown(page):
            page.evaluate(AXE)
            found = page.evaluate("axe.run().then((result) => result.violations)")
            serious = [one for one in found if one["impact"] in ("serious", "critical")]
            assert not serious, f"{each}: {json.dumps(serious, indent=1)[:3000]}"
