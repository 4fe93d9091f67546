"""The workbench behind the proxies of docs/deploy.md, with HTTPS and under a path."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.visit import serving
from sayso.annotate.decisions import decisions
from sayso.annotate.store import AnnotationDatabase, reading_from
from sayso.serve.server import ServeSettings, make_links
from script import ROOT
from toy_extraction import NEW, ids, write_found
from toy_workbench import make_settings

pytestmark = pytest.mark.slow

PROXIES = ("caddy", "nginx")


class Certificate(NamedTuple):
    """A certificate of `localhost`, signed by itself."""

    file: Path
    key: Path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("certificate")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", made.key)
    subprocess.run(["openssl", "req", "-x509", *key, "-out", made.file, *subject], check=True, capture_output=True)
    return made


def free_port() -> int:
    with closing(socket.socket()) as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
    return port


def recipe(name: str) -> str:
    """Return the settings of a proxy in the docs."""
    (found,) = re.findall(rf"```{name}\n(.*?)```", (ROOT / "docs" / "deploy.md").read_text(), re.DOTALL)
    return found


def command_of(name: str, folder: Path, port: int, to: int, certificate: Certificate) -> list[str]:
    """Write the recipe with other ports and a certificate, and return the command that runs the proxy with it."""
    text = recipe(name).replace("127.0.0.1:8017", f"127.0.0.1:{to}")
    path = folder / "settings"
    if name == "caddy":
        text = text.replace("example.org {", f"localhost:{port} {{\n\ttls {certificate.file} {certificate.key}", 1)
        path.write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
        return ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]
    for before, after in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("server_name example.org", "server_name localhost"),
        ("/etc/ssl/example.org.pem", str(certificate.file)),
        ("/etc/ssl/example.org.key", str(certificate.key)),
    ):
        assert before in text
        text = text.replace(before, after)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    path.write_text(
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log {folder}/access.log;\n{temporary}{text}}}\n"
    )
    return ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(path)]


@contextmanager
def proxy(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """Run a proxy until the block ends."""
    with (folder / "output").open("w") as output:
        home = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=home)
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "output").read_text()
            with closing(socket.socket()) as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    folder = tmp_path_factory.mktemp("team")
    return replace(make_settings(folder), facts=(write_found(folder / "news"),))


def annotate(page: Page) -> None:
    """Mark, submit and reopen a fact."""
    page.get_by_role("button", name="Start").click()
    expect(page.locator("li.current")).to_be_focused()
    page.locator("#comment").fill("a draft")
    stored = page.evaluate("Object.keys(localStorage)")
    assert [name for name in stored if name.startswith("sayso-comment%2Fsayso/Ada/")], "not that of another path"
    page.keyboard.press("Escape")
    expect(page.locator("#saved")).to_have_text("· saved")
    page.keyboard.press("Shift+I")
    page.keyboard.press("n")
    page.wait_for_url(lambda url, first=page.url: url != first)
    page.keyboard.press("z")
    expect(page.locator("#saved")).to_have_text("· saved")


def review(page: Page) -> None:
    """Accept the first fact, undo that, and reject it."""
    page.goto("review/news")
    page.locator("a.open").first.click()
    page.wait_for_url("**/sayso/review/news/fact?**")
    for key, told in (("a", "accepted"), ("z", "Undone"), ("x", "rejected")):
        with page.expect_response(lambda answer: "/decisions" in answer.url):
            page.keyboard.press(key)
        expect(page.locator(".toast")).to_contain_text(told)
    page.goto(f"review/news/fact?{urlencode(ids(NEW[0]))}")
    expect(page.locator(".decide .badge")).to_have_text("rejected")


def look_around(page: Page, url: str) -> None:
    """Open the other pages, and sign out."""
    for path in ("agreement", "predictions", "try", "decisions", "api", "annotate/queue"):
        page.goto(path)
        page.wait_for_load_state("load")
    page.goto(url)  # without a slash at the end
    page.wait_for_load_state("load")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sayso/sign-in")


@pytest.mark.parametrize("name", PROXIES)
def test_marks_and_decisions_are_made_through_the_proxy_of_the_docs(
    browser: Browser, shown: ServeSettings, certificate: Certificate, tmp_path: Path, name: str
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: apt-get install caddy nginx-light")
    port, to, database = free_port(), free_port(), tmp_path / "marks.db"
    settings = replace(shown, database=database, public_url=f"https://localhost:{port}/sayso", leads=("Ada",))
    asked, faults = list[str](), list[str]()
    with (
        serving(settings, to) as url,
        proxy(command_of(name, tmp_path, port, to, certificate), tmp_path, port),
        browser.new_context(ignore_https_errors=True, base_url=f"{url}/") as context,
    ):
        with closing(AnnotationDatabase(database)) as opened:
            ((_, link),) = make_links(opened, settings, ["Ada"], is_renewed=False)
        assert link.startswith(f"{url}/enter?token=")
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("response", lambda answer: faults.append(answer.url) if answer.status >= 400 else None)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(link)
        page.wait_for_url("**/sayso/")
        page.goto("annotate")
        (cookie,) = context.cookies(url)
        assert (cookie["secure"], cookie["httpOnly"], cookie["path"]) == (True, True, "/sayso")
        annotate(page)
        review(page)
        look_around(page, url)
    assert faults == []
    assert [each for each in asked if not urlsplit(each).path.startswith("/sayso")] == []
    with reading_from(database) as connection:
        assert [(each.triple, each.decision) for each in decisions(connection)[0]] == [(NEW[0].triple, "rejected")]
    written = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert "token=" not in written
    assert name == "caddy" or "/sayso/annotate" in written
