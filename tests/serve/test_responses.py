"""All errors have the same format."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from sayso.annotate.store import BusyError, DiskFullError
from sayso.serve.responses import ErrorResponse
from toy_workbench import Person


def check(answer: Any, status: int) -> ErrorResponse:
    assert answer.status_code == status, answer.text
    body = ErrorResponse.model_validate_json(answer.text, strict=True)
    assert body.error.status == status
    assert body.error.message
    assert set(answer.json()) == {"error"}
    return body


def api_routes(client: TestClient) -> list[tuple[str, str]]:
    paths = client.app.openapi()["paths"]
    return sorted((method.upper(), path) for path, methods in paths.items() for method in methods)


def test_every_changing_route_refuses_a_forged_request_in_the_one_form(client: TestClient) -> None:
    changing = [(method, path) for method, path in api_routes(client) if method != "GET"]
    assert len(changing) > 8
    for method, path in changing:
        check(client.request(method, path, json={}), 403)


def test_every_changing_route_refuses_nonsense_in_the_one_form(ada: Person) -> None:
    headers = {"X-Form-Token": ada.token}
    for method, path in api_routes(ada.client):
        if method != "GET":
            answer = ada.client.request(
                method, path, content=b'{"bag": "', headers={**headers, "Content-Type": "application/json"}
            )
            assert 400 <= answer.status_code < 500, (method, path)
            check(answer, answer.status_code)


def test_every_route_with_an_unknown_fact_returns_not_found(ada: Person) -> None:
    for bag, relation in ((10**9, "capital"), (0, "no such relation")):
        body = check(ada.client.get("/api/annotate/fact", params={"bag": bag, "relation": relation}), 404)
        assert body.error.code == "not_found"


def test_unknown_addresses_and_methods(client: TestClient) -> None:
    check(client.get("/api/nowhere"), 404)
    check(client.delete("/api/queue"), 405)


def test_who_is_not_signed_in_hears_it(client: TestClient) -> None:
    check(client.get("/api/annotate/fact", params={"bag": 0, "relation": "capital"}), 401)


def test_pages_say_the_same_in_words(client: TestClient) -> None:
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert "Page not found." in answer.text
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("error", "status"),
    [(DiskFullError("the disk is full"), 507), (BusyError("busy"), 503), (ZeroDivisionError("a bug"), 500)],
)
def test_what_breaks_inside_has_the_one_form_and_shows_nothing_private(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("sayso.annotate.guideline.read_guideline", fail)
    answer = client.get("/api/guideline")
    body = check(answer, status)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "ZeroDivisionError" not in str(body)
    assert "Traceback" not in str(body)


def test_a_full_disk_reaches_the_person_and_what_was_refused_can_be_sent_again(ada: Person) -> None:
    writer = ada.client.app.state.workbench.database._writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages + 2}")

    def comment(number: int) -> Any:
        text = f"{number} " + "x" * 4000
        body = {"bag": 0, "relation": "capital", "key": f"comment {number}", "text": text}
        return ada.client.put("/api/annotate/comment", json=body, headers={"X-Form-Token": ada.token})

    number, answer = 0, comment(0)
    while answer.status_code == 200 and number < 100:
        number, answer = number + 1, comment(number + 1)
    assert "the disk is full; nothing was saved" in check(answer, 507).error.message
    writer.execute("PRAGMA max_page_count = 1000000")
    assert comment(number).status_code == 200


def test_urls_of_0_1_lead_to_the_renamed_pages(ada: Person) -> None:
    for old, new in {
        "/facts/run?q=a&page=2": "/predictions/run?q=a&page=2",
        "/found": "/review",
        "/curate?decision=accepted": "/decisions?decision=accepted",
        "/agree/fact?bag=0&relation=capital": "/agreement/fact?bag=0&relation=capital",
        "/api/facts/run": "/api/predictions/run",
        "/api/annotations/remarks": "/api/annotations/comments",
    }.items():
        moved = ada.client.get(old, follow_redirects=False)
        assert (moved.status_code, moved.headers["location"]) == (308, new)
    assert ada.client.get("/factsheet").status_code == 404
