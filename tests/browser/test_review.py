"""Review in a real browser, by keyboard: from the list of extracted facts to the file of accepted ones."""

import json
import os
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.visit import serving, signed_in
from sayso.annotate.decisions import decided_quotes, decisions
from sayso.annotate.store import reading_from
from sayso.facts.quote import REASONS, Quote
from sayso.serve.responses import STATIC_URL
from sayso.serve.server import ServeSettings
from toy_extraction import CONTRADICTING, FACTS, HOSTILE_FACT, NEW, ids, write_found
from toy_facts import make_extracted
from toy_workbench import make_settings

pytestmark = pytest.mark.slow

NUM_KEYS, KEYS_SEED = int(os.environ.get("NUM_KEYS", 300)), int(os.environ.get("KEYS_SEED", 13))
"""How many random keys are pressed, and which: `NUM_KEYS=10000 pytest tests/browser/test_review.py -k exactly`."""
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
    """Accept a fact, reject the next one with a reason, go back, and undo the last decision."""
    number = page.locator(".crumbs .number")
    press(page, "a")
    expect(number).to_have_text(f"2 of {len(FACTS)}")
    expect(page.locator(".toast")).to_have_text("Port Town0 lies in north land0: accepted.")
    reason = page.get_by_label("Reason")
    reason.focus()
    page.keyboard.type("it is <b>not</b> told")
    press(page, "Escape")
    expect(reason).not_to_be_focused()
    press(page, "n")
    press(page, "p")
    expect(number).to_have_text(f"2 of {len(FACTS)}")
    reason.focus()
    page.keyboard.type("it is <b>not</b> told")
    expect(page.locator("#reason-keys")).to_be_visible()
    press(page, "Enter")
    expect(number).to_have_text(f"3 of {len(FACTS)}")
    press(page, "p")
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
        for key in "axnepaz":
            page.keyboard.press(key)
        expect(page.locator(".crumbs .number")).to_have_text(f"4 of {len(FACTS)}")
        expect(page.locator(BADGE)).to_have_text("needs evidence")
        page.goto("/decisions")
        expect(page.locator("ul.decisions .badge")).to_have_text(["needs evidence", "rejected", "accepted"])
        names = page.locator("ul.decisions .pair").all_inner_texts()
        assert [name.split("land")[1][0] for name in names] == ["3", "1", "0"]


MANY = tuple(
    make_extracted(head_id=f"Q{number}", head_name=f"land{number}", probability=0.99 - number / 2000)
    for number in range(1000)
)
"""In the order of the list."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    """An extraction with many facts."""
    folder = tmp_path_factory.mktemp("many")
    return replace(make_settings(folder, with_run=False), facts=(write_found(folder / "many", MANY),))


def saved_in(database: Path) -> dict[str, str]:
    """Return the decisions in the database, by the number in the head id and, of quotes, their place."""
    with reading_from(database) as connection:
        found, damaged = decisions(connection)
        quotes = decided_quotes(connection)
    assert not damaged
    on_facts = {fact.head_id.removeprefix("Q"): fact.decision for fact in found}
    return on_facts | {
        f"{each.head_id.removeprefix('Q')} {each.quote.rank - 1}": each.reason or "states the fact" for each in quotes
    }


def open_first(page: Page) -> None:
    page.goto("/review")
    page.locator("a.open").first.click()
    expect(page.locator(".crumbs .number")).to_have_text(f"1 of {len(MANY):,}")


KEYS_DONE = f"""async () => {{
    const {{ inTurn }} = await import("{STATIC_URL}turn.js");
    await new Promise((done) => inTurn(done));
}}"""
"""Wait until the page has acted on all keys."""


def expect_sent(page: Page) -> None:
    """Wait until the page has acted on all keys, and the browser has sent everything."""
    page.evaluate(KEYS_DONE)
    deadline = time.monotonic() + 60
    while page.evaluate("Object.keys(localStorage).length"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("delay", [0.03, 0.06, 0.1])
def test_the_second_of_two_quick_keys_decides_on_the_next_fact(
    browser: Browser, many: ServeSettings, tmp_path: Path, delay: float
) -> None:
    settings = replace(many, database=tmp_path / "marks.db")
    with serving(settings) as url, signed_in(browser, url) as page:
        open_first(page)
        for _ in range(20):
            page.keyboard.press("e")
            time.sleep(delay)
            page.keyboard.press("x")
        expect(page.locator(".crumbs .number")).to_have_text(f"41 of {len(MANY):,}")
        expect_sent(page)
    assert saved_in(settings.database) == {
        str(number): "rejected" if number % 2 else "needs_evidence" for number in range(40)
    }


DECISION_OF = {"a": "accepted", "x": "rejected", "e": "needs_evidence"}
QUOTE_DECISION_OF = {
    "y": "states the fact",
    **{str(number): reason for number, reason in enumerate(REASONS, 1)},
    "0": "",
}
NUM_QUOTES = 2


class Reviewer:
    """What a person's keys do: decisions on facts and their quotes, the fact and sentence in focus, steps to undo.

    A place is a fact by its number, or a fact and one of its quotes.
    """

    def __init__(self) -> None:
        self.fact, self.focus = 0, -1
        self.decided = dict[tuple[int, ...], str]()
        self.steps = list[tuple[tuple[int, ...], str]]()

    def press(self, key: str) -> None:
        if key in DECISION_OF:
            self._decide((self.fact,), DECISION_OF[key])
            self._go(1)
        elif key in QUOTE_DECISION_OF:
            quote = self._quote()
            self._decide((self.fact, quote), QUOTE_DECISION_OF[key])
            self.focus = min(quote + 1, NUM_QUOTES - 1)
        elif key in "np":
            self._go(1 if key == "n" else -1)
        elif key == "j":
            self.focus = min(self.focus + 1, NUM_QUOTES - 1)
        elif key == "k":
            self.focus = max(self.focus - 1, 0) if self.focus >= 0 else NUM_QUOTES - 1
        elif key == "z" and self.steps:
            place, before = self.steps.pop()
            self.decided[place] = before
            self.fact, self.focus = place[0], -1

    def _quote(self) -> int:
        """Return the sentence in focus, or else the first one without a decision."""
        undecided = [quote for quote in range(NUM_QUOTES) if not self.decided.get((self.fact, quote))]
        return self.focus if self.focus >= 0 else next(iter(undecided), 0)

    def _go(self, distance: int) -> None:
        if 0 <= self.fact + distance < len(MANY):
            self.fact, self.focus = self.fact + distance, -1

    def _decide(self, place: tuple[int, ...], decision: str) -> None:
        before = self.decided.get(place, "")
        if before != decision:
            self.steps.append((place, before))
            self.decided[place] = decision

    @property
    def saved(self) -> dict[str, str]:
        """The decisions, as `saved_in` returns them."""
        return {" ".join(map(str, place)): decision for place, decision in self.decided.items() if decision}


def test_the_database_has_exactly_what_was_pressed(browser: Browser, many: ServeSettings, tmp_path: Path) -> None:
    settings, reviewer = replace(many, database=tmp_path / "marks.db"), Reviewer()
    rng = random.Random(KEYS_SEED)
    with serving(settings) as url, signed_in(browser, url) as page:
        open_first(page)
        for _ in range(NUM_KEYS):
            (key,) = rng.choices("axenpzjky180", (4, 4, 2, 2, 4, 4, 1, 1, 3, 3, 2, 1))
            reviewer.press(key)
            page.keyboard.press(key)
            time.sleep(rng.choice((0, 0, 0.01, 0.03, 0.06, 0.1)))
        expect_sent(page)
        expect(page.locator(".crumbs .number")).to_have_text(f"{reviewer.fact + 1:,} of {len(MANY):,}")
    assert saved_in(settings.database) == reviewer.saved


def test_the_next_fact_is_there_at_once(browser: Browser, many: ServeSettings, tmp_path: Path) -> None:
    with serving(replace(many, database=tmp_path / "marks.db")) as url, signed_in(browser, url) as page:
        open_first(page)
        page.wait_for_load_state("networkidle")
        # Far from the server: every answer takes a while.
        page.route("**/review/**", lambda route: (time.sleep(0.3), route.continue_()))
        # The machine may be busy with other tests: the fastest of three counts.
        took = [page.evaluate(MEASURE_NEXT, f"{number} ") for number in (2, 3, 4)]
        assert min(took) < 50, took
        addresses = page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)")
        assert any(STATIC_URL in each for each in addresses)


MEASURE_NEXT = """(number) => new Promise((done) => {
    const since = performance.now();
    new MutationObserver(() => {
        if (document.querySelector('.crumbs .number')?.textContent.startsWith(number))
            requestAnimationFrame(() => done(performance.now() - since));
    }).observe(document.body, {childList: true, subtree: true});
    document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}));
})"""
"""Decide by key, and return the milliseconds until the next fact is drawn."""


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
        page.wait_for_url(f"{url}/")
        open_by_keyboard(page)
    for key in "axe":
        page.keyboard.press(key)
    expect(page.locator(".state")).to_contain_text("is not responding")
    expect(page.locator(".crumbs .number")).to_have_text(f"4 of {len(FACTS)}")
    with serving(settings, port=int(url.rpartition(":")[2])):
        expect(page.locator(".state")).to_be_hidden()
        expect_sent(page)
        assert saved_in(settings.database) == {"0": "accepted", "1": "rejected", "2": "needs_evidence"}
        page.keyboard.press("p")
        expect(page.locator(".decide [role=status]")).to_contain_text("needs evidence by Ada")
        page.goto(f"/review/news/fact?{urlencode(ids(NEW[0]))}")
        page.evaluate("localStorage['sayso-decisions/Ada/000-k'] = JSON.stringify(" + json.dumps(LEFT) + ")")
        page.reload()
        expect(page.locator(BADGE)).to_have_text("rejected")
        assert page.evaluate("Object.keys(localStorage).length") == 0
    context.close()


def test_eleven_sentences_cost_a_key_each_and_one_for_the_fact(
    browser: Browser, opened: ServeSettings, tmp_path: Path
) -> None:
    quotes = tuple(
        Quote(f"{place}: ", "Windhoek is Namibia's", " capital.", place, 1.0 / place, alone=0.9 - place / 20)
        for place in range(1, 12)
    )
    long, other = (make_extracted(head_id=f"Q{each}", quotes=quotes, num_sentences=11) for each in (0, 1))
    facts = (write_found(tmp_path / "long", (long, other)),)
    settings = replace(opened, database=tmp_path / "marks.db", facts=facts)
    with serving(settings) as url, signed_in(browser, url) as page:
        page.goto("/review")
        page.locator("a.open").first.click()
        page.wait_for_url("**/fact?**")
        for key in "y3y4444444y":
            page.keyboard.press(key)
        expect(page.locator(".evidence.struck")).to_have_count(8)
        expect(page.locator(".quote-badge .rejected").first).to_have_text("wrong boundaries")
        expect(page.locator(".support .notice")).to_have_text(
            "Without the 8 rejected sentences, sentences 1, 3 are each enough (up to 0.85 alone)."
        )
        page.keyboard.press("a")
        expect(page.locator(".crumbs .number")).to_have_text("2 of 2")
        expect_sent(page)
        page.goto("/decisions")
        expect(page.locator("table.reasons tbody tr")).to_have_text([re.compile("negated.*7"), re.compile("wrong.*1")])
        with page.expect_download() as download:
            page.get_by_role("link", name="accepted.csv").click()
        assert Path(download.value.path()).read_text().count(",negated") == 7


def test_rows_are_decided_on_from_the_table_alone_or_together_with_one_undo(browser: Browser, address: str) -> None:
    with signed_in(browser, address) as page:
        page.goto("/review")
        badges = page.locator("td.decision .badge")
        press(page, "a")
        expect(page.locator(".toast")).to_contain_text("No fact is selected")
        for key in "jax":
            press(page, key)
        expect(badges).to_have_text(["accepted", "rejected"])
        for key in "sss":
            press(page, key)
        expect(page.locator(".num-selected")).to_have_text("3 selected")
        press(page, "e")
        expect(badges).to_have_text(["accepted", "rejected", *["needs evidence"] * 3])
        expect(page.locator("a.open").nth(5)).to_be_focused()
        press(page, "z")
        expect(page.locator(".toast")).to_have_text("Undone: the decisions on 3 facts.")
        expect(badges).to_have_text(["accepted", "rejected"])
        press(page, "Enter")
        expect(page.locator(".crumbs .number")).to_have_text(f"3 of {len(FACTS)}")
        page.go_back()
        expect(page.locator("table.facts")).to_be_visible()
        page.get_by_label("Group by").select_option("sentence")
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("tr.group")).to_have_count(2)
        for key in ("j", "Shift+S"):
            press(page, key)
        expect(page.locator(".num-selected")).to_have_text("6 selected")
        expect(page.locator(".pick-group").first).to_be_checked()
        page.get_by_label("Select the 6 facts of this sentence").uncheck()
        expect(page.locator(".num-selected")).to_be_empty()


def shown(page: Page) -> Iterator[str]:
    """Visit the Review pages, including those of hostile and decided facts."""
    hostile = f"/review/news/fact?{urlencode(ids(HOSTILE_FACT))}"
    page.goto(hostile)
    press(page, "a")
    expect(page.locator(".toast")).to_contain_text("accepted")
    for each in (
        "/review/news?decision=any&group=sentence",
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
