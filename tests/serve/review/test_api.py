from starlette.testclient import TestClient

from toy_found import CONTRADICTING, DEFAULT_ORDER, FACTS, NEW, ids
from toy_workbench import Person


def test_files_say_how_far_people_have_come(ada: Person) -> None:
    assert ada.ask("GET", "/found") == [{"name": "news", "num_facts": len(FACTS), "num_decided": 0}]


def test_facts_come_in_pages(client: TestClient) -> None:
    answer = client.get("/api/found/news", params={"status": "new", "relation": "capital"}).json()
    expected = [fact for fact in DEFAULT_ORDER if fact.status == "new" and fact.relation == "capital"]
    assert [row["head_id"] for row in answer["rows"]] == [fact.head_id for fact in expected]
    assert (answer["num_found"], answer["page"], answer["num_pages"]) == (len(expected), 1, 1)


def test_a_fact_has_everything_that_the_file_says(client: TestClient) -> None:
    answer = client.get("/api/found/news/fact", params=ids(CONTRADICTING)).json()
    assert answer["contradicts"] == list(CONTRADICTING.contradicts)
    assert answer["support"]["text"].startswith("Not on the sentences")
    assert [quote["exact"] for quote in answer["quotes"]] == [quote.exact for quote in CONTRADICTING.quotes]
    assert answer["quotes"][0]["source"] == {"document_id": "https://example.org/7", "start": 120, "stop": 155}
    assert answer["decision"] == ""


def test_a_decision_is_saved_once_under_its_key_and_undone(ada: Person) -> None:
    step = {**ids(NEW[0]), "decision": "accepted", "reason": "told", "key": "a-key-of-mine"}
    for _ in range(2):
        ada.ask("POST", "/found/news/decisions", **step)
    (decided,) = ada.ask("GET", "/decisions")
    assert (decided["head_id"], decided["reason"], decided["run"]) == (NEW[0].head_id, "told", NEW[0].run)
    assert ada.client.get("/api/found/news/fact", params=ids(NEW[0])).json()["decision"] == "accepted"
    assert ada.ask("GET", "/found")[0]["num_decided"] == 1
    assert ada.ask("POST", "/decisions/undo", key="another-key")["head_id"] == NEW[0].head_id
    assert ada.ask("GET", "/found")[0]["num_decided"] == 0


def test_what_cannot_be_decided_is_refused(ada: Person) -> None:
    step = {**ids(NEW[0]), "decision": "accepted", "key": "a-key-of-mine"}
    for changes, status in (
        ({"decision": "perhaps"}, 422),
        ({"head": "nobody"}, 404),
        ({"reason": "x" * 3_000}, 422),
        ({"reason": "told \x1b[2J"}, 422),
        ({"reason": "told\0"}, 422),
        ({"key": "short"}, 422),
    ):
        ada.ask("POST", "/found/news/decisions", status, **(step | changes))
    ada.ask("POST", "/found/elsewhere/decisions", 404, **step)
    assert ada.ask("GET", "/decisions") == []


def test_the_interface_is_described(client: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {path for path in paths if path.startswith("/api/found")} == {
        "/api/found",
        "/api/found/{facts}",
        "/api/found/{facts}/fact",
        "/api/found/{facts}/decisions",
    }
