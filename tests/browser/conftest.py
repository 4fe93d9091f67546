"""A headless browser, and a workbench for each test."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from browser.visit import launched, serving
from sayso.serve.server import ServeSettings
from toy_predictions import hostile_lines
from toy_workbench import big_bag, make_settings

SignIn = Callable[..., Page]
LONG_NAME = "W" * 60


class Served(NamedTuple):
    """A running workbench."""

    url: str


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as opened:
        yield opened


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    """A store with a hostile and a large bag, and a run; created once."""
    return make_settings(tmp_path_factory.mktemp("browser"), extra=[*hostile_lines(), *big_bag(300)])


@pytest.fixture
def workbench(shelf: ServeSettings, tmp_path: Path) -> Iterator[Served]:
    with serving(replace(shelf, database=tmp_path / "marks.db", leads=("Ada", LONG_NAME))) as url:
        yield Served(url)


@pytest.fixture
def sign_in(browser: Browser) -> Iterator[SignIn]:
    """Sign someone in in a separate browser context; any console error fails the test."""
    contexts, complaints = [], []

    def open_page(url: str, name: str, **options: object) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        page.goto(url)
        page.fill("#name", name)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{url}/")
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
