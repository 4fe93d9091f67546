import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from starlette.testclient import TestClient

from sayso.annotate.store import AnnotationDatabase
from sayso.errors import UserError
from sayso.serve.responses import FOLDER, STATIC_URL
from sayso.serve.server import ServeSettings, make_links
from toy_extraction import write_found
from toy_workbench import Person, open_client

PAGES = ["/annotate", "/annotate/queue", "/annotate/guideline", "/annotate/pilot", "/agreement", "/api", "/sign-in"]


@pytest.mark.parametrize("address", [*PAGES, "/static/base.css", "/api/queue", "/nowhere", "/api/nowhere"])
def test_every_answer_has_the_strict_policy(ada: Person, address: str) -> None:
    headers = ada.client.get(address).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in headers["content-security-policy"]


def test_no_template_has_a_script_or_a_style_of_its_own() -> None:
    templates = list((FOLDER / "templates").rglob("*.html"))
    assert templates
    for path in templates:
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|javascript:", text), path
        assert not re.search(r"\|\s*safe\b|autoescape false", text), path


def test_nothing_is_loaded_from_elsewhere() -> None:
    files = [path for kind in ("html", "js", "css") for path in FOLDER.rglob(f"*.{kind}")]
    assert files
    for path in files:
        assert not re.search(r"(?:src|href|url|import|fetch)\W{1,3}(?:https?:)?//", path.read_text()), path


def test_a_form_without_the_token_of_its_page_is_refused(ada: Person) -> None:
    for token in ("", "0" * 64):
        answer = ada.client.post("/annotate/guideline", data={"text": "new", "form_token": token})
        assert answer.status_code == 403
    assert "new" not in ada.page("/annotate/guideline").split("<textarea")[0]


def test_a_token_of_another_browser_is_refused(ada: Person, ben: Person) -> None:
    answer = ada.client.put("/api/guideline", json={"text": "new"}, headers={"X-Form-Token": ben.token})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_request_from_another_site_is_refused_even_with_the_token(ada: Person, headers: dict[str, str]) -> None:
    headers = {"X-Form-Token": ada.token, **headers}
    assert ada.client.put("/api/guideline", json={"text": "new"}, headers=headers).status_code == 403


def test_a_request_from_our_own_page_passes(ada: Person, settings: ServeSettings) -> None:
    headers = {"X-Form-Token": ada.token, "Origin": settings.url, "Sec-Fetch-Site": "same-origin"}
    assert ada.client.put("/api/guideline", json={"text": "new"}, headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8017", "127.0.0.1.evil.example", "[::1", ""])
def test_a_foreign_host_name_is_refused_on_this_machine(client: TestClient, host: str) -> None:
    assert client.get("/api/queue", headers={"Host": host}).status_code == 400


def test_an_ipv6_loopback_host_is_accepted(settings: ServeSettings) -> None:
    with open_client(replace(settings, host="::1")) as client:
        assert client.get("/api/queue", headers={"Host": "[::1]:8017"}).status_code == 200


def test_another_address_of_this_machine_is_reached_where_it_is_served(settings: ServeSettings) -> None:
    with open_client(replace(settings, host="127.0.0.2")) as client:
        assert client.get("/api/queue").status_code == 200
        assert client.get("/api/queue", headers={"Host": "127.0.0.3:8017"}).status_code == 400


def test_a_request_that_is_too_large_is_refused_whatever_it_says_of_its_length(
    ada: Person, settings: ServeSettings
) -> None:
    headers = {"X-Form-Token": ada.token, "Content-Type": "application/json"}
    too_long = b'"' + b"x" * settings.max_body + b'"'
    assert ada.client.put("/api/guideline", content=too_long, headers=headers).status_code == 413
    in_pieces = (too_long[i : i + 100_000] for i in range(0, len(too_long), 100_000))
    assert ada.client.put("/api/guideline", content=in_pieces, headers=headers).status_code == 413


def test_the_cookie_is_kept_from_scripts_and_other_sites(client: TestClient) -> None:
    cookie = client.get("/sign-in").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


def test_a_path_does_not_leave_the_static_folder(client: TestClient) -> None:
    for path in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "annotate/../../app.py", "//etc/passwd"):
        answer = client.get(f"/static/{path}")
        assert answer.status_code == 404
        assert "import" not in answer.text


def test_browsers_keep_static_files_until_one_of_them_changes(client: TestClient) -> None:
    page = client.get("/sign-in").text
    (url,) = set(re.findall(r'href="(/static/[^"]*base\.css)"', page))
    assert url == f"{STATIC_URL}base.css"
    kept = client.get(url)
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    checked = client.get("/static/base.css")
    assert checked.headers["cache-control"] == "no-cache"
    assert checked.content == kept.content
    assert client.get("/static/0123456789ab/base.css").status_code == 404


@pytest.fixture
def remote(settings: ServeSettings) -> ServeSettings:
    return replace(settings, host="192.0.2.7")


def test_other_machines_see_nothing_without_a_link(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        for address in ("/annotate", "/agreement", "/predictions", "/annotate/guideline"):
            assert client.get(address, follow_redirects=False).headers["location"] == "/sign-in"
        for address in ("/api/queue", "/api/annotations", "/api/openapi.json"):
            assert client.get(address).status_code == 401
        page = client.get("/sign-in")
        assert "Open the link" in page.text
        token = re.search(r'name="form-token" content="(\w*)"', page.text)[1]
        assert client.post("/sign-in", data={"name": "Ada", "form_token": token}).status_code == 403


OPENED = {"Sec-Fetch-Site": "none"}
"""What a browser says of a link that the person has opened: pasted, a bookmark, a mail program."""


def test_a_link_signs_in_and_its_token_does_not_stay_in_the_address(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        database = client.app.state.workbench.database
        ((name, link),) = make_links(database, remote, ["Ada"], is_renewed=False)
        assert name == "Ada"
        assert make_links(database, remote, ["Ada"], is_renewed=False) == []
        assert client.get(f"{link}x", headers=OPENED).status_code == 403
        answer = client.get(link, headers=OPENED)
        assert answer.url.path == "/"
        assert "token" not in str(answer.url)
        assert "Ada" in answer.text
        ((_, renewed),) = make_links(database, remote, ["Ada"], is_renewed=True)
        assert renewed != link
        assert client.get(link, headers=OPENED).status_code == 403


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {}])
def test_a_link_that_another_site_may_have_opened_signs_in_after_one_click(
    remote: ServeSettings, headers: dict[str, str]
) -> None:
    with open_client(remote) as client:
        ((_, link),) = make_links(client.app.state.workbench.database, remote, ["Ada"], is_renewed=False)
        ada = Person(client)
        assert "Sign in as" in ada.page(link, headers)
        assert client.get("/api/queue").status_code == 401
        token = link.split("token=")[1]
        assert client.post("/enter", data={"token": token}).status_code == 403
        assert "Sign out" in ada.post_form("/enter", token=token)
        assert client.get("/api/queue").status_code == 200


def test_another_persons_link_signs_in_only_after_a_click(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        links = dict(make_links(client.app.state.workbench.database, remote, ["Ada", "Ben"], is_renewed=False))
        client.get(links["Ada"], headers=OPENED)
        ben = Person(client)
        for headers in (OPENED, {"Sec-Fetch-Site": "cross-site"}):
            page = ben.page(links["Ben"], headers)
            assert "You are signed in as" in page
            assert '<span dir="auto">Ada</span>' in client.get("/annotate").text
        assert client.get(links["Ada"], headers={"Sec-Fetch-Site": "cross-site"}).url.path == "/"
        secret = client.cookies[client.app.state.access.cookie]
        assert '<span dir="auto">Ben</span>' in ben.post_form("/enter", token=links["Ben"].split("token=")[1])
        client.cookies.clear()
        client.cookies.set(client.app.state.access.cookie, secret)
        assert client.get("/api/queue").status_code == 401, "the session that was left is over"


def test_new_links_shut_out_who_is_not_named_any_more(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        links = dict(make_links(client.app.state.workbench.database, remote, ["Ada", "Ben"], is_renewed=False))
        assert client.get(links["Ben"], headers=OPENED).url.path == "/"
    with open_client(remote) as again:
        again.cookies = client.cookies
        ((name, _),) = make_links(again.app.state.workbench.database, remote, ["Ada"], is_renewed=True)
        assert name == "Ada"
        assert again.get("/api/queue").status_code == 401
        assert again.get(links["Ben"], headers=OPENED).status_code == 403


def test_new_links_made_elsewhere_end_the_sessions_of_a_running_server(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        links = dict(make_links(client.app.state.workbench.database, remote, ["Ada", "Ben"], is_renewed=False))
        client.get(links["Ben"], headers=OPENED)
        assert client.get("/api/queue").status_code == 200
        elsewhere = AnnotationDatabase(remote.database)  # like a second process
        make_links(elsewhere, remote, ["Ada"], is_renewed=True)
        elsewhere.close()
        assert client.get("/api/queue").status_code == 401


def test_a_session_outlives_a_restart(settings: ServeSettings) -> None:
    with open_client(settings) as client:
        ada = Person(client, "Ada")
    with open_client(settings) as again:
        again.cookies = client.cookies
        headers = {"X-Form-Token": ada.token}
        assert again.put("/api/guideline", json={"text": "new"}, headers=headers).status_code == 200


def test_signing_out_ends_the_session(ada: Person) -> None:
    cookies = dict(ada.client.cookies)
    ada.post_form("/sign-out")
    assert "Sign in" in ada.client.get("/annotate").text
    ada.client.cookies.update(cookies)
    assert "Sign in" in ada.client.get("/annotate").text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_is_local(host: str, tmp_path: Path) -> None:
    assert ServeSettings(data=tmp_path, database=tmp_path / "a.db", host=host).is_local


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org", "localhost.evil.example"])
def test_every_other_address_asks_for_tokens(host: str, tmp_path: Path) -> None:
    assert not ServeSettings(data=tmp_path, database=tmp_path / "a.db", host=host).is_local


ROOT = "/team/sayso"
LINK = re.compile(r'\s(href|src|action|formaction)="([^"]*)"')


@pytest.fixture
def public(settings: ServeSettings, tmp_path: Path) -> ServeSettings:
    """A workbench behind a proxy that passes requests for a path on."""
    facts = (write_found(tmp_path / "news"),)
    return replace(settings, public_url=f"https://work.example{ROOT}/", facts=facts)


def enter(client: TestClient, settings: ServeSettings) -> Person:
    """Sign a lead in by link."""
    ((_, link),) = make_links(client.app.state.workbench.database, settings, ["Ada"], is_renewed=True)
    ada = Person(client)
    ada.page(link, OPENED)
    return ada


def test_every_link_and_redirect_is_within_the_path_of_the_public_url(public: ServeSettings) -> None:
    with open_client(public) as client:
        enter(client, public)
        waiting, seen, kinds = [f"{ROOT}/", ROOT], set(), set()
        while waiting:
            url = waiting.pop()
            key = urlsplit(url).path, frozenset(parse_qs(urlsplit(url).query))
            if key in seen:
                continue
            seen.add(key)
            answer = client.get(f"https://work.example{url}")
            assert answer.status_code == 200, url
            for each in answer.history:
                assert each.headers["location"].startswith(f"{ROOT}/"), url
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            assert f'<meta name="root" content="{ROOT}">' in answer.text
            for kind, link in LINK.findall(answer.text):
                found = urljoin(str(answer.url), unescape(link))
                if link.startswith("#"):
                    continue
                assert found.startswith((f"https://work.example{ROOT}/", "https://example.org/")), (url, link)
                kinds.add(kind)
                if kind in ("href", "src") and urlsplit(found).netloc == "work.example":
                    waiting.append(found.removeprefix("https://work.example").partition("#")[0])
        paths = {path for path, _ in seen}
        pages = ("/annotate/fact", "/agreement", "/predictions/run", "/review/news/fact", "/try", "/decisions", "/api")
        assert {ROOT + page for page in pages} <= paths
        assert kinds == {"href", "src", "action"}


def test_a_proxy_may_pass_requests_on_without_the_path(public: ServeSettings) -> None:
    with open_client(public) as client:
        enter(client, public)
        for prefix in ("", ROOT):
            answer = client.get(f"https://work.example{prefix}/annotate/", follow_redirects=False)
            assert answer.headers["location"] == f"{ROOT}/annotate"
            assert client.get(f"https://work.example{prefix}/annotate").status_code == 200


def test_paths_in_scripts_are_completed_with_the_path_of_the_public_url() -> None:
    completing = ("rooted(", "send(", "sendAtEnd(", ".add(")
    for path in FOLDER.rglob("*.js"):
        for line in path.read_text().splitlines():
            if re.search(r"""["'`]/\w""", line):
                assert any(word in line for word in completing), f"{path}: {line.strip()}"


def test_a_cookie_behind_a_proxy_with_https_is_secure_and_only_for_its_path(public: ServeSettings) -> None:
    with open_client(public) as client:
        cookie = client.get("/sign-in").headers["set-cookie"]
        assert f"; Path={ROOT};" in cookie
        assert cookie.endswith("; Secure")
        ada = enter(client, public)
        token = ada.token
        ada.post_form("/sign-out")
        headers = {"X-Form-Token": token}
        assert client.put("/api/guideline", json={"text": "new"}, headers=headers).status_code == 401
    with open_client(replace(public, public_url=f"http://work.example{ROOT}")) as client:
        assert "Secure" not in client.get("/sign-in").headers["set-cookie"]


def test_behind_a_proxy_requests_come_from_pages_of_the_public_url(public: ServeSettings) -> None:
    with open_client(public) as client:
        assert client.get("/api/queue").status_code == 401
        ada = enter(client, public)
        for origin, status in (
            ("https://work.example", 200),
            ("http://work.example", 403),
            ("http://127.0.0.1:8017", 403),
        ):
            # What a proxy says of itself changes nothing.
            for more in ({}, {"X-Forwarded-Proto": "http", "X-Forwarded-Host": "127.0.0.1:8017", "Host": "127.0.0.1"}):
                headers = {"X-Form-Token": ada.token, "Origin": origin, **more}
                assert client.put("/api/guideline", json={"text": "new"}, headers=headers).status_code == status


@pytest.mark.parametrize(
    "url",
    ["example.org", "ftp://work.example", "https://", "https://a/b?c", "https://a/b c", 'https://a/"b', "https://u@a"],
)
def test_a_public_url_that_is_none_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(UserError, match="not a URL for --public-url"):
        ServeSettings(data=tmp_path, database=tmp_path / "a.db", public_url=url)
