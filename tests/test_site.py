"""The documentation site: it builds without warnings, and no link in it is broken."""

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import sayso
from script import ROOT

pytest.importorskip("zensical")


class Page(HTMLParser):
    """The links of an HTML page, and the ids that links can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and not urlsplit(value).scheme and not value.startswith("//"):
                self.links.add(unquote(value))


def broken_links(site: Path) -> list[str]:
    """Return every link of the built pages whose file or anchor is missing."""
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "src").symlink_to(ROOT / "src")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "griffe:" not in result.stdout + result.stderr, "a docstring does not match its function"
    return (folder / "build" / "site").resolve()


def test_no_link_or_anchor_of_the_site_is_broken(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) >= 20
    assert broken_links(site) == []


def test_a_broken_link_or_anchor_is_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h2 id="there">B</h2>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a><img src="d.png">'
    )
    assert sorted(broken_links(tmp_path)) == ["a.html: b.html#gone", "a.html: c.html", "a.html: d.png"]


def test_every_page_can_be_reached_from_the_menu() -> None:
    menu = (ROOT / "zensical.toml").read_text()
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f'"{page}"' not in menu] == []


def test_the_site_documents_the_public_api_and_can_be_searched(site: Path) -> None:
    ids = Page((site / "api.html").read_text()).ids
    assert "sayso.library.train" in ids  # not the package of the same name
    documented = {each.rpartition(".")[2] for each in ids}
    assert set(sayso.__all__) - {"__version__"} <= documented
    assert {name for name, member in vars(sayso.Model).items() if name[0] != "_" and callable(member)} <= documented
    assert "leave_one_out" in (site / "search.json").read_text()
