"""Predictions, Try and Decisions in a real browser, by keyboard, with a trained run."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from browser.visit import serving, signed_in
from sayso.evaluate.evaluation import EvaluationSettings, evaluate_run, prediction_columns
from sayso.explain.trained_run import open_runs
from sayso.serve.server import ServeSettings
from sayso.store.marks import marks_of_store
from sayso.store.predictions import write_predictions
from sayso.store.store import Store
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config
from toy_runs import make_toy_settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    """A store, and a run on it with its own predictions."""
    folder = tmp_path_factory.mktemp("trained")
    store = Store(make_marked_store(folder))
    run = make_run(toy_config("type"), store.folder, folder / "run")
    (subject,) = open_runs([run], store, "test")
    settings = EvaluationSettings(threshold=0.01, num_resamples=20)
    evaluated = evaluate_run(subject, marks_of_store(store, "test"), settings)
    write_predictions(run / "predictions", prediction_columns(evaluated))
    return ServeSettings(data=store.folder, database=folder / "marks.db", runs=(run,))


@pytest.fixture(scope="module")
def address(trained: ServeSettings) -> Iterator[str]:
    with serving(trained) as url:
        yield url


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page with a signed-in user; any console error fails the test."""
    with signed_in(browser, address) as opened:
        yield opened


def press(page: Page, key: str) -> None:
    """Press a key once the page is ready."""
    page.wait_for_load_state("load")
    page.keyboard.press(key)


def open_fact(page: Page, query: str = "") -> None:
    page.goto(f"/predictions/run?{query}")
    page.locator("a.open").first.click()
    page.wait_for_url("**/fact?**")


def test_a_fact_is_found_opened_and_left_by_keyboard(page: Page) -> None:
    page.goto("/predictions")
    press(page, "/")
    page.keyboard.type("land1 town1")
    press(page, "Enter")
    page.wait_for_url("**q=land1**")
    expect(page.get_by_role("status")).to_contain_text("facts (")
    press(page, "j")
    press(page, "Enter")
    page.wait_for_url("**/fact?**")
    expect(page.get_by_role("heading", level=1)).to_contain_text("north land1")
    expect(page.locator(".seen").first).to_be_visible()
    press(page, "v")
    expect(page.get_by_label("text", exact=True)).to_be_checked()
    expect(page.locator(".seen")).to_have_count(0)
    press(page, "j")
    expect(page.locator(".evidence").first).to_be_focused()
    press(page, "n")
    expect(page.locator(".crumbs .number")).to_have_text("2 of 2")
    press(page, "p")
    expect(page.locator(".crumbs .number")).to_have_text("1 of 2")


def test_another_mechanism_reorders_the_sentences(page: Page) -> None:
    open_fact(page, "relation=capital&sort=sentences")
    places = page.locator(".evidence .bars > div:first-child .place-by")
    page.get_by_label("ranked by").select_option("attention")
    expect(page.locator(".bars > .chosen dt").first).to_have_text("attention")
    assert places.all_inner_texts() == ["1.", "2.", "3."]


def test_a_point_of_the_curve_leads_to_its_facts_by_keyboard(page: Page) -> None:
    page.goto("/predictions/run/curve")
    press(page, "ArrowRight")
    press(page, "ArrowRight")
    press(page, "Enter")
    expect(page.locator("#found")).to_contain_text("facts at recall")
    assert page.locator("table.facts a.open").count() > 0
    page.locator("a.point").last.click()
    expect(page.locator("a.point[aria-current]")).to_have_count(1)
    expect(page.locator("a.point").last).to_have_attribute("aria-current", "true")


def test_every_point_of_the_curve_opens_its_own_facts_and_shows_its_values(page: Page) -> None:
    page.goto("/predictions/run/curve")
    points = page.locator("a.point")
    dots = page.locator("a.point .dot").evaluate_all(
        """dots => dots.map((dot) => {
             const { x, y, width, height } = dot.getBoundingClientRect();
             const hit = document.elementFromPoint(x + width / 2, y + height / 2).closest("a");
             return hit === dot.closest("a") && [x + width / 2, y + height / 2];
           })"""
    )
    assert len(dots) > 2
    assert all(dots), "another point lies over its dot"
    for number, (x, y) in enumerate(dots):
        page.mouse.move(x, y)
        expect(page.locator(".values:visible")).to_have_text(points.nth(number).get_attribute("aria-label"))
    page.mouse.move(0, 0)
    expect(page.locator(".values:visible")).to_have_count(0)
    press(page, "ArrowRight")
    press(page, "ArrowRight")
    expect(page.locator(".values:visible")).to_have_text(points.nth(1).get_attribute("aria-label"))
    for number, (x, y) in enumerate(dots):
        page.goto("/predictions/run/curve")
        page.mouse.click(x, y)
        expect(points.nth(number)).to_have_attribute("aria-current", "true")
        num_facts = int(
            re.search(r": ([\d,]+) fact", points.nth(number).get_attribute("aria-label"))[1].replace(",", "")
        )
        expect(page.locator("table.facts a.open")).to_have_count(num_facts)


@pytest.mark.parametrize("colours", ["none", "active"])
def test_words_for_and_against_differ_by_more_than_colour(page: Page, colours: str) -> None:
    page.emulate_media(forced_colors=colours)
    open_fact(page, "relation=capital")
    lines = {
        kind: page.locator(f".legend .word.{kind}").evaluate("word => getComputedStyle(word).textDecorationStyle")
        for kind in ("for", "against")
    }
    assert lines == {"for": "solid", "against": "wavy"}


def test_decisions_are_made_undone_listed_and_downloaded(page: Page) -> None:
    open_fact(page, "relation=born")
    page.get_by_label("Reason").fill("it is <b>told</b>")
    page.get_by_label("Reason").blur()
    press(page, "x")
    expect(page.locator(".toast")).to_contain_text("rejected")
    press(page, "p")
    expect(page.locator(".decide .badge")).to_have_text("rejected")
    press(page, "a")
    press(page, "z")
    expect(page.locator(".decide .badge")).to_have_text("rejected")
    press(page, "a")
    press(page, "p")
    expect(page.locator(".decide .badge")).to_have_text("accepted")
    page.reload()
    expect(page.locator(".decide .reason")).to_have_text("it is <b>told</b>")
    page.goto("/decisions")
    expect(page.get_by_role("link", name="1 accepted")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="accepted.jsonld").click()
    collection = json.loads(Path(download.value.path()).read_text())
    assert collection["total"] == 1
    press(page, "z")
    expect(page.locator(".decide .badge")).to_have_text("rejected")


def test_a_decision_that_takes_its_time_belongs_to_the_fact_it_was_made_on(page: Page) -> None:
    open_fact(page, "relation=capital")
    first = page.url

    def held_up(route: Route) -> None:
        time.sleep(0.3)
        route.continue_()

    page.route("**/api/decisions", held_up)
    press(page, "a")
    expect(page.locator(".crumbs .number")).to_contain_text("2 of ")
    expect(page.locator(".decide .badge")).to_have_count(0)
    press(page, "p")
    expect(page.locator(".decide .badge")).to_have_text("accepted")
    assert page.url.startswith(first)
    press(page, "z")
    expect(page.locator(".decide .badge")).to_have_count(0)


def test_escape_leaves_the_reason_box_and_enter_rejects_with_the_reason(page: Page) -> None:
    open_fact(page, "relation=capital")
    reason = page.get_by_label("Reason")
    reason.fill("not so")
    reason.press("Escape")
    expect(reason).not_to_be_focused()
    expect(page.locator(".decide .badge")).to_have_count(0)
    reason.press("Enter")
    press(page, "p")
    expect(page.locator(".decide .badge")).to_have_text("rejected")
    expect(page.locator(".decide .reason")).to_have_text("not so")
    press(page, "z")
    expect(page.locator(".decide .badge")).to_have_count(0)


def test_own_sentences_are_marked_and_asked_about_by_keyboard(page: Page) -> None:
    page.goto("/try")
    sentences = page.get_by_role("textbox", name="Sentences")
    sentences.fill("ada_1 was born in Port Town1.\nPort Town1 's ada_1 sings.")
    press(page, "Control+Home")
    press(page, "Control+Shift+ArrowRight")
    press(page, "Alt+h")
    expect(page.get_by_role("textbox", name="Head")).to_have_value("ada_1")
    page.get_by_role("textbox", name="Tail").fill("Port Town1")
    expect(page.locator(".preview mark.tail")).to_have_count(2)
    page.get_by_role("button", name="Run the model").press("Enter")
    expect(page.locator("#answer .evidence").first).to_be_visible(timeout=60_000)
    expect(page.locator("#answer table").first).to_contain_text("born")
    page.get_by_role("textbox", name="Tail").fill("Paris")
    expect(page.locator(".preview .missing").first).to_contain_text("the tail is not named here")
    page.get_by_role("button", name="Run the model").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("'Paris' does not appear in")
    page.get_by_role("textbox", name="Tail").fill("Port Town1")
    page.get_by_role("textbox", name="Sentences").fill("ada_1 was born in Port Town1.\nada_1 sings.")
    page.get_by_role("button", name="Run the model").press("Enter")
    expect(page.locator("#answer .notice")).to_have_text(
        "Left out: sentence 2: 'Port Town1' does not appear in “ada_1 sings.”."
    )
    expect(page.locator("#answer .evidence").first).to_be_visible()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(make_toy_settings(tmp_path_factory.mktemp("hostile"))) as url:
        yield url


@pytest.mark.parametrize("width", [400, 1280])
def test_hostile_text_stays_text_and_inside_the_page(browser: Browser, hostile: str, width: int) -> None:
    with signed_in(browser, hostile, width) as page:
        page.goto("/predictions/one?q=land%3C")
        page.locator("a.open").first.click()
        page.wait_for_url("**/fact?**")
        fact = page.url
        expect(page.get_by_role("heading", level=1)).to_contain_text("<i>land</i>")
        expect(page.locator(".read").filter(has_text="<script>alert(1)</script>")).to_have_count(1)
        press(page, "a")
        expect(page.locator(".toast")).to_contain_text("accepted")
        compared = fact.replace("/predictions/one/fact?", "/compare?left=one&right=two&")
        for address in (
            "/predictions/one?q=land%3C",
            fact,
            compared,
            fact.replace("/predictions/one/fact?", "/try?run=one&"),
            "/decisions",
        ):
            page.goto(address)
            page.wait_for_load_state("load")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_facts_on_which_two_runs_differ_are_found_and_opened_by_keyboard(browser: Browser, hostile: str) -> None:
    with signed_in(browser, hostile) as page:
        page.goto("/predictions/one")
        page.get_by_role("link", name="Compare runs").click()
        page.wait_for_url("**/compare/facts?**")
        found = page.get_by_role("status")
        expect(found).to_contain_text("facts")
        everything = page.locator("a.open").count()
        page.get_by_label("Predicted by").select_option("right")
        page.get_by_role("button", name="Filter").click()
        page.wait_for_url("**only=right**")
        assert 0 < page.locator("a.open").count() < everything
        press(page, "j")
        expect(page.locator("a.open").first).to_be_focused()
        press(page, "Enter")
        page.wait_for_url("**/compare?**")
        expect(page.locator(".support h2")).to_have_text(["one", "two"])
        page.get_by_role("link", name="Facts on which one and two differ").click()
        page.wait_for_url("**/compare/facts?**")
