"""A whole session: two people annotate by keyboard, settle, export, and a run is evaluated with the marks."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from browser.annotating import expect_saved, go_by, labels, press
from command import sayso_process as sayso
from running import serving
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config

pytestmark = pytest.mark.slow


def fact_of(page: Page) -> tuple[str, str]:
    query = parse_qs(urlsplit(page.url).query)
    return query["bag"][0], query["relation"][0]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store with a test part, and a run that was trained and evaluated on it."""
    folder = tmp_path_factory.mktemp("session")
    store = make_marked_store(folder)
    run = make_run(toy_config("type"), store, folder / "run")
    assert sayso("evaluate", run, "--data", store, "--resamples", 20).returncode == 0
    return store, run


def test_from_the_first_key_to_the_evaluated_run(made: tuple[Path, Path], tmp_path: Path, sign_in) -> None:
    store, run = made
    database = tmp_path / "marks.db"
    with serving(store, database, "--run", run, "--port", 0) as running:
        ada, ben = sign_in(running.url, "Ada"), sign_in(running.url, "Ben")
        mark_by_keyboard(ada)
        submit_by_keyboard(ada)
        disagree(ben, ada)
        settle_by_keyboard(ada, running.url)
        page_export = ada.request.get(f"{running.url}/api/annotations").text()
    exported = tmp_path / "out.jsonl"
    result = sayso("annotations", "export", exported, "--db", database, "--data", store)
    assert result.returncode == 0, result.stderr
    assert exported.read_text() == page_export
    marks = [json.loads(line) for line in exported.read_text().splitlines()]
    assert [mark["label"] for mark in marks] == ["rationale", "irrelevant", "irrelevant"]
    result = sayso("evaluate", run, "--data", store, "--marks", exported, "--resamples", 20, "--json")
    assert result.returncode == 0, result.stderr
    assert "match no sentence" not in result.stderr
    tau = json.loads(result.stdout)["runs"][0]["explanations"]["shapley"]["tau"]["all"]
    assert (tau["num_tuples"], tau["num_bags"]) == (2, 1)


def mark_by_keyboard(page: Page) -> None:
    """Mark the sentences of a fact, with undo, a reload and moving back in between."""
    page.get_by_role("button", name="Start").press("Enter")
    expect(page.locator("li.current")).to_be_focused()
    while page.locator("#sentences > li").count() != 3:
        go_by(page, "n")
    assert page.locator("meter").count() == 0
    press(page, "ri")
    assert labels(page) == ["rationale", "irrelevant", ""]
    press(page, "zz")
    expect(page.locator("#count")).to_have_text("0 of 3")
    press(page, "rr")
    expect_saved(page)
    page.reload()
    assert labels(page) == ["rationale", "rationale", ""]
    expect(page.locator('li[data-place="1"]')).to_be_focused()
    press(page, "i")
    press(page, "kkj")
    assert page.locator("li.current").get_attribute("data-place") == "1"
    press(page, "ji")
    assert labels(page) == ["rationale", "irrelevant", "irrelevant"]


def submit_by_keyboard(page: Page) -> None:
    """Comment on the fact, submit it, see the scores, move on and come back."""
    press(page, "wc")
    page.keyboard.type("first of all")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.wait_for_selector("text=reopens the fact")
    assert page.locator("meter").count() == 3
    expect(page.locator("#wrong")).to_be_checked()
    here = fact_of(page)
    go_by(page, "n")
    assert fact_of(page) != here
    go_by(page, "p")
    assert fact_of(page) == here


def disagree(ben: Page, ada: Page) -> None:
    """Mark the same fact differently, without seeing each other's marks."""
    ben.goto(ada.url)
    assert labels(ben) == ["", "", ""]
    assert ben.locator("meter").count() == 0
    expect(ben.locator("#comment")).to_have_value("")
    press(ben, "rru")
    go_by(ben, "n")


def settle_by_keyboard(page: Page, url: str) -> None:
    """Settle two disputed sentences, with an undo and a reload in between."""
    page.goto(f"{url}/agreement")
    page.locator(".disputed a").first.press("Enter")
    page.wait_for_selector("#sentences")
    assert page.locator("#sentences > li").count() == 2
    expect(page.locator("#sentences .badge")).to_have_text(["irrelevant", "rationale", "irrelevant", "unsure"])
    press(page, "ru")
    expect_saved(page)
    press(page, "z")
    expect(page.locator("#count")).to_have_text("1 of 2")
    page.reload()
    assert labels(page) == ["rationale", ""]
    press(page, "ii")
    expect_saved(page)
    page.reload()
    assert labels(page) == ["irrelevant", "irrelevant"]
    go_by(page, "n")
    expect(page.locator(".disputed")).to_contain_text("settled")
