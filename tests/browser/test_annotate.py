"""The annotation page under harder conditions: mouse only, large bags, hostile text, a server that is away."""

import signal
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from browser.annotating import expect_saved, go_back_to_a_finished_fact, go_by, labels, open_fact, press
from browser.conftest import LONG_NAME, Served
from running import serving
from sayso.serve.server import ServeSettings
from toy_workbench import NUM_PAIRS

pytestmark = pytest.mark.slow

HOSTILE_BAG, BIG_BAG = NUM_PAIRS, NUM_PAIRS + 1


def test_the_mouse_does_everything(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    page.get_by_role("link", name="Guideline").click()
    page.get_by_role("link", name="Back to annotating").click()
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector("#sentences")
    num = page.locator("#sentences > li").count()
    for place in range(num):
        page.locator("#sentences > li").nth(place).get_by_role("button", name="unsure").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#count")).to_have_text(f"{num - 1} of {num}")
    page.get_by_role("button", name="Mark the rest irrelevant").click()
    page.get_by_role("checkbox", name="fact is wrong").click()
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog")).to_contain_text("undo (unlimited)")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_selector("text=reopens the fact")
    before = page.url
    page.get_by_role("button", name="Next").click()
    page.wait_for_url(lambda url: url != before)
    page.get_by_role("button", name="Previous").click()
    page.wait_for_url(before)


def held_up(route: Route) -> None:
    """Delay a request, as on a slow connection."""
    time.sleep(0.3)
    route.continue_()


def test_a_click_waits_for_a_page_that_does_not_listen_yet(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    page.route("**/static/**/*.js", held_up)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="rationale").first.click()
    assert labels(page)[0] == "rationale"


def test_keys_pressed_before_an_undo_is_answered_count_after_it(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, 0)
    page.route("**/api/annotate/undo", held_up)
    press(page, "rrrzuzI")
    expect(page.locator('li[data-label="irrelevant"]')).to_have_count(1)
    assert labels(page) == ["rationale", "rationale", "irrelevant"]
    press(page, "zIsr")
    page.wait_for_selector("text=reopens the fact")
    assert labels(page) == ["rationale", "rationale", "irrelevant"]


def test_undo_on_a_submitted_fact_opens_it_again_and_leaves_the_next_one_alone(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    go_back_to_a_finished_fact(page)
    press(page, "z")
    expect(page.locator("#submit")).to_be_visible()
    assert labels(page)[0] == "irrelevant"
    go_by(page, "n")
    assert labels(page)[0] == "rationale"


def test_a_page_accepts_keys_again_if_leaving_it_was_stopped(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    page.clock.install()
    open_fact(page, workbench.url, 0)
    page.route("**/annotate/fact?**", lambda route: route.fulfill(status=204))  # the browser stays where it is
    with page.expect_response("**/annotate/fact?**"):
        press(page, "nr")
    assert labels(page) == ["", "", ""]
    page.clock.fast_forward(5_000)
    press(page, "i")
    assert labels(page) == ["irrelevant", "", ""]
    expect_saved(page)


def test_an_answer_that_is_not_the_workbenchs_is_no_answer(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, 0)
    page.route("**/api/annotate/marks", lambda route: route.fulfill(body="<p>sign in to the proxy</p>"))
    press(page, "ri")
    expect(page.get_by_role("alert")).to_contain_text("is not responding")
    page.unroute("**/api/annotate/marks")
    expect_saved(page)
    page.reload()
    assert labels(page) == ["rationale", "irrelevant", ""]


def test_caps_lock_and_a_key_held_down_mark_one_sentence(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, 0)
    page.keyboard.press("I")  # without Shift
    assert labels(page) == ["irrelevant", "", ""]
    for _ in range(3):
        page.keyboard.down("r")
    assert labels(page) == ["irrelevant", "rationale", ""]


def test_a_bag_of_300_sentences_is_marked_by_keys_and_undone_at_once(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, BIG_BAG, "contains")
    press(page, "riu" * 5)
    expect(page.locator("li.current")).to_be_in_viewport(ratio=0.9)
    page.keyboard.press("Shift+I")
    expect(page.locator("#count")).to_have_text("300 of 300")
    expect_saved(page)
    press(page, "z")
    expect(page.locator("#count")).to_have_text("15 of 300")
    page.reload()
    assert labels(page)[:15] == ["rationale", "irrelevant", "unsure"] * 5


def test_hostile_text_is_shown_and_harms_nothing(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada", viewport={"width": 400, "height": 800})
    open_fact(page, workbench.url, HOSTILE_BAG)
    assert "<script>alert(1)</script>" in page.locator("#sentences").inner_text()
    assert page.locator("#sentences script, #sentences b, h1 i").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    press(page, "riu")
    expect_saved(page)
    page.reload()
    assert labels(page) == ["rationale", "irrelevant", "unsure"]


@pytest.mark.parametrize("address", ["/annotate", "/annotate/queue", "/annotate/guideline", "/agreement", "/api"])
def test_pages_fit_400_pixels_whatever_people_are_called(workbench: Served, sign_in, address: str) -> None:
    page = sign_in(workbench.url, LONG_NAME, viewport={"width": 400, "height": 800})
    page.goto(workbench.url + address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_pages_fit_400_pixels_whatever_people_write(workbench: Served, sign_in) -> None:
    for name, keys in (("Ben", "rri"), ("Ada", "rii")):
        page = sign_in(workbench.url, name, viewport={"width": 400, "height": 800})
        open_fact(page, workbench.url, 0)
        press(page, f"{keys}c")
        page.locator("#comment").fill("x" * 2_000)
        page.locator("#comment").blur()
        press(page, "s")
        page.wait_for_selector("text=reopens the fact")
    page.goto(f"{workbench.url}/annotate/guideline")
    page.get_by_text("Change the guideline").click()
    page.locator("#text").fill("y" * 2_000)
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    page.get_by_text("Change capital").click()
    page.get_by_label("Definition of capital").fill("z" * 1_000)
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    for address in ("/annotate/guideline", "/agreement", "/agreement/fact?bag=0&relation=capital"):
        page.goto(workbench.url + address)
        assert page.get_by_text("yyy" if "guideline" in address else "xxx").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, address


def test_a_person_with_a_narrow_screen_marks_and_submits(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada", viewport={"width": 400, "height": 800}, has_touch=True)
    open_fact(page, workbench.url, 0)
    for place in range(3):
        page.locator("#sentences > li").nth(place).get_by_role("button", name="irrelevant").tap()
    page.get_by_role("button", name="Submit").tap()
    page.wait_for_selector("text=reopens the fact")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_marks_made_while_the_server_is_away_are_saved_when_it_is_back(
    shelf: ServeSettings, tmp_path: Path, sign_in
) -> None:
    with serving(shelf.data, tmp_path / "marks.db") as running:
        page = sign_in(running.url, "Ada")
        open_fact(page, running.url, 0)
        press(page, "r")
        expect_saved(page)
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
    press(page, "iu")
    expect(page.get_by_role("alert")).to_contain_text("is not responding")
    assert labels(page) == ["rationale", "irrelevant", "unsure"]
    port = running.url.rsplit(":", 1)[1]
    with serving(shelf.data, tmp_path / "marks.db", "--port", port):
        expect_saved(page)
        expect(page.get_by_role("alert")).to_be_hidden()
        page.reload()
        assert labels(page) == ["rationale", "irrelevant", "unsure"]
    sign_in.complaints[:] = [each for each in sign_in.complaints if "ERR_CONNECTION_REFUSED" not in each]


def test_a_refused_mark_is_reported_and_not_shown(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, 0)
    other = page.context.new_page()
    open_fact(other, workbench.url, 0)
    press(other, "rrrs")
    other.wait_for_selector("text=reopens the fact")
    press(page, "i")
    expect(page.get_by_role("alert")).to_contain_text("submitted the fact. This page now shows that")
    assert labels(page) == ["rationale"] * 3
    sign_in.complaints[:] = [each for each in sign_in.complaints if "409 (Conflict)" not in each]


def test_what_is_pressed_while_a_disputed_fact_is_left_settles_nothing_on_it(workbench: Served, sign_in) -> None:
    ada, ben = sign_in(workbench.url, "Ada"), sign_in(workbench.url, "Ben")
    for page, keys in ((ada, "iii"), (ben, "rrr")):
        for bag in (0, 1):
            open_fact(page, workbench.url, bag)
            press(page, f"{keys}s")
            page.wait_for_selector("text=reopens the fact")
    ada.goto(f"{workbench.url}/agreement/fact?bag=0&relation=capital")
    ada.route("**/agreement/fact?bag=1&**", held_up)
    press(ada, "inu")
    ada.wait_for_url("**/agreement/fact?bag=1&**")
    assert labels(ada) == ["", "", ""]
    ada.get_by_role("link", name="Previous").click()
    ada.wait_for_url("**/agreement/fact?bag=0&**")
    assert labels(ada) == ["irrelevant", "", ""]


def test_a_note_is_written_by_keyboard_and_saved_with_the_label(workbench: Served, sign_in) -> None:
    ada, ben = sign_in(workbench.url, "Ada"), sign_in(workbench.url, "Ben")
    for page, keys in ((ada, "rii"), (ben, "rrr")):
        open_fact(page, workbench.url, 0)
        press(page, f"{keys}s")
        page.wait_for_selector("text=reopens the fact")
    ada.goto(f"{workbench.url}/agreement/fact?bag=0&relation=capital")
    press(ada, "ic")
    ada.keyboard.type("unit irks")
    ada.keyboard.press("Enter")
    press(ada, "i")
    expect_saved(ada)
    ada.reload()
    notes = ada.get_by_label("Note")
    expect(notes.nth(0)).to_have_value("")
    expect(notes.nth(1)).to_have_value("unit irks")
    assert labels(ada) == ["irrelevant", "irrelevant"]
    ben.goto(ada.url)
    expect(ben.locator("main")).to_contain_text("Note: unit irks")
    press(ben, "u")
    ben.reload()
    assert labels(ben) == ["irrelevant", "irrelevant"]


def test_the_pilot_round_ends_with_its_outcome(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    page.goto(f"{workbench.url}/annotate/queue")
    page.get_by_label("Facts in the pilot round").fill("1")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("Change the pilot round from 0 to 1 fact?")
    page.get_by_role("button", name="Change the pilot round").click()
    expect(page.locator(".notice")).to_contain_text("Start with the pilot round: 0 of 1")
    page.get_by_role("button", name="Start").click()
    press(page, "rrin")
    page.wait_for_url("**/annotate/pilot")
    expect(page.locator("main")).to_contain_text("67 % of your marks on 3 sentences match")
    expect(page.locator(".sentences > li")).to_have_count(1)
    expect(page.locator(".badge")).to_have_text(["rationale", "irrelevant"])
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector("#sentences")


def test_single_keys_can_be_turned_off(workbench: Served, sign_in) -> None:
    page = sign_in(workbench.url, "Ada")
    open_fact(page, workbench.url, 0)
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Use single-key shortcuts").click()
    page.keyboard.press("Escape")
    press(page, "r")
    assert labels(page) == ["", "", ""]


def test_signing_in_returns_to_the_fact_that_was_opened(workbench: Served, browser: Browser) -> None:
    address = f"{workbench.url}/annotate/fact?bag=1&relation=capital"
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_url("**/sign-in")
        page.fill("#name", "Ada")
        page.keyboard.press("Enter")
        page.wait_for_url(address)
        press(page, "r")
        expect_saved(page)
