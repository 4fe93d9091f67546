"""Actions on the annotation page."""

from urllib.parse import urlencode

from playwright.sync_api import Page, expect


def open_fact(page: Page, url: str, bag: int, relation: str = "capital") -> None:
    """Open a fact, ready for keys."""
    page.goto(f"{url}/annotate/fact?{urlencode({'bag': bag, 'relation': relation})}")
    expect(page.locator("li.current")).to_be_focused()


def labels(page: Page) -> list[str]:
    """Return the labels that the page shows, sentence by sentence."""
    return page.locator("#sentences > li").evaluate_all("items => items.map((item) => item.dataset.label)")


def press(page: Page, keys: str) -> None:
    """Press keys one after another, once the page is ready; upper-case letters with Shift."""
    expect(page.locator("li.current")).to_have_count(1)
    for key in keys:
        page.keyboard.press(f"Shift+{key}" if key.isupper() else key)


def expect_saved(page: Page) -> None:
    """Wait until everything is saved."""
    expect(page.locator("#saved")).to_have_text("· saved")


def go_by(page: Page, key: str) -> None:
    """Press a key that opens another page, once this page is ready, and wait for the new page."""
    expect(page.locator("li.current")).to_be_focused()
    before = page.url
    page.keyboard.press(key)
    page.wait_for_url(lambda url: url != before)


def go_back_to_a_finished_fact(page: Page) -> None:
    """Finish the first fact, mark a sentence of the next one, and go back."""
    page.get_by_role("button", name="Start").click()
    press(page, "I")
    go_by(page, "n")
    press(page, "r")
    expect_saved(page)
    go_by(page, "p")
