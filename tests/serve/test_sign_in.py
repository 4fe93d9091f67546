import re
from dataclasses import replace
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from sayso.serve.responses import is_own_page
from sayso.serve.server import ServeSettings, make_links
from toy_workbench import Person, open_client

FACT = "/annotate/fact?bag=1&relation=capital"
OPENED = {"Sec-Fetch-Site": "none"}
ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "javascript:alert(1)",
    "evil.example",
    " //evil.example",
    "",
    "/sign-in",
    "/sign-out",
    "/enter?token=x",
    f"/{'x' * 3_000}",
]


def sign_in(client: TestClient, name: str = "Ada") -> str:
    """Sign in on the page that is shown, and return the path and query of the page that follows."""
    token = re.search(r'name="form-token" content="(\w*)"', client.get("/sign-in").text)[1]
    return client.post("/sign-in", data={"form_token": token, "name": name}).url.raw_path.decode()


def test_the_start_page_follows_a_sign_in(client: TestClient) -> None:
    assert client.get("/").url.path == "/sign-in"
    assert sign_in(client) == "/"


@pytest.mark.parametrize("address", [FACT, "/agreement", "/annotate/guideline"])
def test_a_sign_in_returns_to_the_page_that_asked_for_it(client: TestClient, address: str) -> None:
    assert client.get(address).url.path == "/sign-in"
    assert sign_in(client) == address
    Person(client).page("/annotate")
    client.cookies.delete(client.app.state.access.cookie)
    assert client.get("/agreement").url.path == "/sign-in"
    assert sign_in(client, "Ben") == "/agreement"
    assert sign_in(client, "Ben") == "/", "only once"


def test_a_link_returns_to_the_page_that_asked_for_it(settings: ServeSettings) -> None:
    remote = replace(settings, host="192.0.2.7")
    with open_client(remote) as client:
        ((_, link),) = make_links(client.app.state.workbench.database, remote, ["Ada"], is_renewed=False)
        assert "Open the link" in client.get(FACT).text
        assert client.get(link, headers=OPENED).url.raw_path.decode() == FACT


def test_the_link_to_sign_in_returns_to_its_page(client: TestClient) -> None:
    page = "/predictions/run/fact?bag=1&relation=capital"
    assert 'href="/sign-in?is_return=true"' in client.get(page).text
    client.get("/sign-in?is_return=true", headers={"Referer": f"{client.base_url}{page}"})
    assert sign_in(client) == page


@pytest.mark.parametrize("url", ELSEWHERE)
def test_no_other_site_is_opened_after_a_sign_in(client: TestClient, url: str) -> None:
    assert not is_own_page(url)
    client.cookies.set(f"{client.app.state.access.cookie}-page", quote(url, safe=""))
    assert sign_in(client) == "/"


@pytest.mark.parametrize("referrer", ["https://evil.example/", "{ours}/evil.example", "{ours}\\evil.example"])
def test_a_foreign_referrer_is_not_returned_to(client: TestClient, referrer: str) -> None:
    ours = f"{client.base_url}/"
    client.get("/sign-in?is_return=true", headers={"Referer": referrer.format(ours=ours)})
    assert sign_in(client) == "/"


def test_an_address_cannot_choose_the_page_after_a_sign_in(client: TestClient) -> None:
    for parameter in ("next", "page", "return", "is_return"):
        client.get(f"/sign-in?{parameter}=https://evil.example")
    assert sign_in(client) == "/"
