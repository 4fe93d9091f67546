import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from sayso.errors import UserError
from sayso.serve.app import ROUTERS
from sayso.serve.server import ServeSettings, make_links
from toy_extraction import write_found
from toy_runs import make_toy_settings
from toy_workbench import Person, open_client

OPENED = {"Sec-Fetch-Site": "none"}
FACT = {"bag": 1, "relation": "capital"}


@pytest.fixture
def team(settings: ServeSettings, tmp_path: Path) -> Iterator[TestClient]:
    """A workbench with an extraction, a lead, a reviewer and a reader."""
    facts = (write_found(tmp_path / "facts"),)
    with open_client(replace(settings, facts=facts, reviewers=("Rae",), readers=("Carol",))) as opened:
        yield opened


def person(client: TestClient, name: str) -> Person:
    return Person(TestClient(client.app, base_url=str(client.base_url), raise_server_exceptions=False), name)


@pytest.fixture
def remote(settings: ServeSettings) -> ServeSettings:
    return replace(settings, host="192.0.2.7")


def entered(client: TestClient, link: str) -> Person:
    """Return someone who has opened their link in a browser of their own."""
    opened = Person(TestClient(client.app, base_url=str(client.base_url), raise_server_exceptions=False))
    opened.page(link, OPENED)
    return opened


def test_an_annotator_starts_or_continues_from_the_start_page(team: TestClient) -> None:
    ben = person(team, "Ben")
    page = ben.page("/")
    assert "an annotator marks sentences and decides on facts" in page
    assert '<button class="main" type="submit">Start</button>' in page
    assert "You have not marked any sentence yet" in page
    assert "/people" not in page
    ben.post_form("/annotate")
    ben.mark(1, "capital", "rationale")
    assert "Continue:" in ben.page("/")
    ben.mark(1, "capital", "rationale", "irrelevant", "unsure")
    ben.submit(1, "capital")
    assert "You have submitted 1 fact and marked 3 sentences" in ben.page("/")


def test_a_reviewer_starts_with_the_facts_that_are_not_decided(team: TestClient) -> None:
    page = person(team, "Rae").page("/")
    assert "a reviewer decides on facts" in page
    assert re.search(r'class="button main" href="/review/facts">Review \d+ facts<', page)
    assert 'action="/annotate"' not in page


def test_a_reader_sees_what_there_is_to_read(team: TestClient) -> None:
    page = person(team, "Carol").page("/")
    assert "a reader changes nothing" in page
    assert 'href="/agreement"' in page
    assert 'action="/annotate"' not in page
    assert "Review the next" not in page


def test_a_lead_is_told_of_disagreements_to_settle(team: TestClient) -> None:
    ada, ben = person(team, "Ada"), person(team, "Ben")
    assert "No disagreement is waiting" in ada.page("/")
    for one, labels in ((ada, ("rationale", "irrelevant", "unsure")), (ben, ("rationale", "rationale", "unsure"))):
        one.mark(1, "capital", *labels)
        one.submit(1, "capital")
    page = ada.page("/")
    assert "1 fact has marks that differ" in page
    assert 'href="/agreement/fact?bag=1&amp;relation=capital"' in page
    assert "marks that differ" not in ben.page("/")
    ada.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")
    assert "No disagreement is waiting" in ada.page("/")


def test_without_a_run_the_review_comes_first(settings: ServeSettings, tmp_path: Path) -> None:
    with open_client(replace(settings, runs=(), facts=(write_found(tmp_path / "facts"),))) as client:
        page = Person(client, "Ada").page("/")
    assert page.index('id="review-title"') < page.index('id="annotate-title"')


def test_a_file_of_facts_that_cannot_be_read_does_not_close_the_start_page(
    settings: ServeSettings, tmp_path: Path
) -> None:
    facts = write_found(tmp_path / "facts")
    with open_client(replace(settings, facts=(facts,))) as client:
        (facts / "facts.jsonl" if facts.is_dir() else facts).write_text("{}\n")
        assert "facts cannot be read" in Person(client, "Ada").page("/")


CHANGES = [
    (method, route.path)
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted((route.methods or set()) - {"GET", "HEAD"})
    if not route.path.startswith(("/sign-", "/enter", "/try", "/api/try"))
]
"""Every request that changes what others see; asking a model changes nothing."""


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_a_reader_can_change_nothing(team: TestClient, method: str, path: str) -> None:
    carol = person(team, "Carol")
    url, headers = path.replace("{facts}", "facts"), {"X-Form-Token": carol.token}
    # The role is refused before the body is read.
    answer = carol.client.request(method, url, headers=headers, json={})
    assert answer.status_code == 403
    assert "This request did not come from" not in answer.text


def test_roles_may_do_what_they_say(team: TestClient) -> None:
    rae, ben, carol = (person(team, name) for name in ("Rae", "Ben", "Carol"))
    marks = {"marks": [{"sentence": 0, "label": "rationale"}], **FACT}
    decision = {**FACT, "run": "run", "decision": "accepted"}
    for one, may_mark, may_decide in ((rae, 403, 200), (ben, 200, 403), (carol, 403, 403)):
        one.ask("POST", "/annotate/marks", may_mark, **marks, key="mark as someone")
        # Ben has yet to submit the fact.
        one.ask("POST", "/decisions", may_decide, **decision, key="decide as someone")
    ben.ask("POST", "/decisions", 200, **{**decision, "bag": 2}, key="decide on another")
    settling = {**FACT, "sentence": 1, "label": "irrelevant"}
    for one in (rae, ben, carol):
        refused = one.ask("POST", "/agreement/settle", 403, **settling, key="settle as someone")
        assert "Only a lead can settle" in refused["error"]["message"]
    assert rae.client.get("/annotate/fact", params=FACT).status_code == 403
    assert "A reviewer cannot mark sentences" in rae.client.get("/annotate/fact", params=FACT).text


def test_pages_offer_a_reader_no_buttons_to_decide(team: TestClient) -> None:
    carol, rae = person(team, "Carol"), person(team, "Rae")
    for address in ("/review/facts", "/decisions", "/predictions/run/fact?bag=1&relation=capital"):
        assert "button" in rae.page(address).split("<main")[1]
        assert 'value="accepted"' not in carol.page(address).replace('<option value="accepted"', "")
        assert "data-key=" not in carol.page(address)


def test_without_a_lead_annotators_settle(settings: ServeSettings) -> None:
    with open_client(replace(settings, leads=())) as client:
        ada, ben = person(client, "Ada"), person(client, "Ben")
        for one, labels in ((ada, ("rationale", "irrelevant", "unsure")), (ben, ("rationale", "rationale", "unsure"))):
            one.mark(1, "capital", *labels)
            one.submit(1, "capital")
        ben.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")


def test_a_lead_changes_roles_and_they_outlive_a_restart(settings: ServeSettings) -> None:
    with open_client(settings) as client:
        ada, ben = person(client, "Ada"), person(client, "Ben")
        assert "Ben" in ada.page("/people")
        ada.post_form("/people", name="Ben", role="reader")
        assert "a reader changes nothing" in ben.page("/")
        ada.ask("PUT", "/people", name="Dora", role="reviewer")
        found = {each["name"]: each["role"] for each in ada.ask("GET", "/people")}
        assert found == {"Ada": "lead", "Ben": "reader", "Dora": "reviewer"}
    with open_client(settings) as again:
        assert "a reader changes nothing" in person(again, "Ben").page("/")


@pytest.mark.parametrize("name", ["Ben", "Rae", "Carol"])
def test_only_leads_see_and_change_people(team: TestClient, name: str) -> None:
    one = person(team, name)
    assert one.client.get("/people").status_code == 403
    one.ask("GET", "/people", 403)
    one.ask("PUT", "/people", 403, name=name, role="annotator")
    for action in ("link", "revoke"):
        one.ask("POST", f"/people/{action}", 403, name="Ada")
        form = {"form_token": one.token, "name": "Ada"}
        assert one.client.post(f"/people/{action}", data=form).status_code == 403
    assert one.client.post("/people", data={"form_token": one.token, "name": name, "role": "x"}).status_code == 403


def test_one_link_is_replaced_and_the_others_keep_working(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        links = dict(make_links(client.app.state.workbench.database, remote, ["Ada", "Ben", "Eva"], is_renewed=False))
        ada, ben, eva = (entered(client, links[name]) for name in ("Ada", "Ben", "Eva"))
        page = ada.post_form("/people/link", name="Ben")
        link = re.search(r'id="new-link"[^>]*value="([^"]+)"', page)[1]
        assert link.startswith(f"{remote.url}/enter?token=")
        assert link not in ada.page("/people")
        assert ben.client.get("/api/queue").status_code == 401
        assert client.get(links["Ben"], headers=OPENED).status_code == 403
        assert eva.client.get("/api/queue").status_code == 200
        assert entered(client, link).client.get("/api/queue").status_code == 200


def test_a_link_is_replaced_when_the_workbench_starts(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        database = client.app.state.workbench.database
        links = dict(make_links(database, remote, ["Ada", "Ben"], is_renewed=False))
        ada, ben = (entered(client, links[name]) for name in ("Ada", "Ben"))
        new = dict(make_links(database, remote, ["Ada", "Ben"], is_renewed=False, replaced=["Ben"]))
        assert list(new) == ["Ben"]
        assert client.get(links["Ben"], headers=OPENED).status_code == 403
        assert [one.client.get("/api/queue").status_code for one in (ada, ben)] == [200, 401]
        assert entered(client, new["Ben"]).client.get("/api/queue").status_code == 200


def test_a_lead_who_replaces_their_own_link_stays_signed_in_here_only(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        ((_, link),) = make_links(client.app.state.workbench.database, remote, ["Ada"], is_renewed=False)
        here, elsewhere = entered(client, link), entered(client, link)
        new = here.ask("POST", "/people/link", name="Ada")
        assert new["name"] == "Ada"
        assert here.client.get("/api/queue").status_code == 200
        assert elsewhere.client.get("/api/queue").status_code == 401


def test_a_link_is_revoked(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        links = dict(make_links(client.app.state.workbench.database, remote, ["Ada", "Ben"], is_renewed=False))
        ada, ben = (entered(client, links[name]) for name in ("Ada", "Ben"))
        ada.post_form("/people/revoke", name="ben")
        assert ben.client.get("/api/queue").status_code == 401
        assert client.get(links["Ben"], headers=OPENED).status_code == 403
        assert ada.ask("GET", "/people")[1]["link_created"] == ""
        ada.ask("POST", "/people/revoke", 404, name="Nobody")


def test_someone_added_gets_a_link_at_once(remote: ServeSettings) -> None:
    with open_client(remote) as client:
        ((_, link),) = make_links(client.app.state.workbench.database, remote, ["Ada"], is_renewed=False)
        ada = entered(client, link)
        page = ada.post_form("/people", name="Carol", role="reader")
        carol = entered(client, re.search(r'id="new-link"[^>]*value="([^"]+)"', page)[1])
        assert "a reader changes nothing" in carol.page("/")


def test_on_this_machine_there_are_no_links(ada: Person) -> None:
    assert "Links are for other machines" in ada.page("/people")
    ada.ask("POST", "/people/link", 400, name="Ada")


def test_a_name_with_two_roles_is_refused(settings: ServeSettings) -> None:
    with pytest.raises(UserError, match="ada has several roles"):
        replace(settings, readers=("ADA",))


def test_an_annotator_is_told_when_the_guideline_changes(team: TestClient) -> None:
    ada, ben = person(team, "Ada"), person(team, "Ben")
    ada.ask("PUT", "/guideline", text="read it")
    ben.mark(1, "capital", "rationale")
    for address in ("/", "/annotate"):
        assert "The guideline has changed" not in ben.page(address)
    ada.ask("PUT", "/guideline", text="read it twice")
    for address in ("/", "/annotate"):
        assert "The guideline has changed since your last mark" in ben.page(address)
    ben.mark(1, "capital", "irrelevant")
    assert "The guideline has changed" not in ben.page("/")


def test_a_lead_sees_what_the_project_needs(team: TestClient, tmp_path: Path) -> None:
    ada = person(team, "Ada")
    num = ada.client.get("/api/progress").json()["num_facts"]
    assert f"0 of {num} facts of the queue complete, {2 * num} submissions still needed" in ada.page("/")
    assert "no definition" not in ada.page("/")
    settings = make_toy_settings(tmp_path)
    with open_client(settings) as client:
        assert "2 of 2 relations have no definition" in Person(client, "Ada").page("/")
