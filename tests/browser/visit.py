"""A running workbench, and a user in a real browser."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from sayso.serve.app import make_app
from sayso.serve.server import ServeSettings, open_socket

# Longer than the page waits between attempts to reach the server, and enough for a busy machine.
expect.set_options(timeout=30_000)

HEIGHT = 900
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield the system's Chromium; without it, tests are skipped, or fail in CI."""
    program = shutil.which("chromium")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no chromium here; `make test` installs it")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def serving(settings: ServeSettings, port: int = 0) -> Iterator[str]:
    """Run a workbench on a port (default: any free one) and yield its URL."""
    opened = open_socket("127.0.0.1", port)
    settings = replace(settings, port=opened.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(make_app(settings), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield settings.url
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def signed_in(
    browser: Browser, url: str, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Page]:
    """Yield a page with a signed-in user; a dialog or a failed or blocked script fails the test."""
    size = {"width": width, "height": HEIGHT}
    with browser.new_context(base_url=url, viewport=size, color_scheme=scheme) as context:  # type: ignore[arg-type]
        page, faults = context.new_page(), list[str]()
        page.set_default_timeout(60_000)
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on("console", lambda line: faults.append(line.text) if "Security Policy" in line.text else None)
        page.goto("/sign-in")
        page.locator("input[name=name]").fill("Ada")
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/sign-in" not in url)
        yield page
        assert not faults
