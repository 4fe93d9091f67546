import csv
import io
import json
from dataclasses import replace

import pytest

from sayso.annotate.people import now
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.predictions.table import PredictionQuery
from sayso.serve.server import ServeSettings
from toy_runs import Client, make_toy_settings

FACT = {"run": "one", "relation": "capital"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    return make_toy_settings(tmp_path_factory.mktemp("curate"))


@pytest.fixture
def client(settings: ServeSettings) -> Client:
    settings.database.unlink(missing_ok=True)
    for name in ("-wal", "-shm"):
        settings.database.with_name(settings.database.name + name).unlink(missing_ok=True)
    return Client(settings)


def run_one(client: Client) -> RunPredictions:
    run: RunPredictions = client.application.state.workbench.predictions["one"]
    return run


def decide(client: Client, decision: str, q: str = "land18", **more: str) -> str:
    """Decide on a capital, and return the resulting page."""
    (row,) = run_one(client).index.rows(
        run_one(client).index.find_all(PredictionQuery(q=q, relation="capital", label="yes"))
    )
    answer = client.post("/decisions/decide", data={**FACT, "bag": str(row.bag), "decision": decision, **more})
    assert answer.status_code == 200
    assert answer.url.path == "/predictions/one/fact"
    return answer.text


def test_a_decision_is_shown_where_it_was_made_and_in_the_list(client: Client) -> None:
    page = decide(client, "accepted", reason="<b>plain</b> to see")
    assert "accepted</span> by Ada" in page
    assert "&lt;b&gt;plain&lt;/b&gt; to see" in page
    listed = client.get("/decisions").text
    assert "1 accepted" in listed
    assert "north land18" in listed
    assert "badge accepted" in client.get("/predictions/one", params={"q": "land18"}).text


def test_undo_and_withdrawal_leave_the_fact_undecided(client: Client) -> None:
    decide(client, "rejected")
    assert "by Ada" not in client.post("/decisions/undo").text
    decide(client, "accepted")
    assert "by Ada" not in decide(client, "withdrawn")
    assert "No decisions yet" in client.get("/decisions").text
    assert "accepted</span> by Ada" in client.post("/decisions/undo").text
    assert client.post("/decisions/undo").status_code == 200
    last = client.post("/decisions/undo")
    assert last.url.path == "/decisions"
    assert "You have no decision to undo" in last.text


def test_undoing_a_decision_on_a_fact_that_is_not_open_is_reported(client: Client, settings: ServeSettings) -> None:
    decide(client, "accepted")
    without_runs = Client(replace(settings, runs=()))
    assert "was undone. Its fact is not in any open run" in without_runs.post("/decisions/undo").text
    assert client.get("/api/decisions").json() == []


def test_the_list_is_filtered(client: Client) -> None:
    decide(client, "accepted", "land18")
    decide(client, "rejected", "land19")
    page = client.get("/decisions", params={"decision": "rejected"}).text
    assert "land19" in page
    assert "land18" not in page
    assert "No decisions match these filters" in client.get("/decisions", params={"q": "nobody"}).text


def test_accepted_facts_go_out_with_quotes_and_rejected_ones_as_decisions(client: Client) -> None:
    decide(client, "accepted", "land18", reason="told")
    decide(client, "rejected", "land19")
    decide(client, "needs_evidence", "land20")
    (item,) = json.loads(client.get("/decisions/files/jsonld").text)["first"]["items"]
    assert item["body"][0]["rdf:subject"]["label"] == "north_land18"
    assert item["target"][0]["selector"]["refinedBy"]["exact"]
    rows = list(csv.DictReader(io.StringIO(client.get("/decisions/files/csv").text)))
    assert {row["head_name"] for row in rows} == {"north_land18"}
    assert rows[0]["model_fingerprint"] == "model0"
    lines = [json.loads(line) for line in client.get("/decisions/files/decisions").text.splitlines()]
    assert sorted((line["head"], line["decision"]) for line in lines) == [("l18", "accepted"), ("l19", "rejected")]
    assert client.get("/decisions/files/odt").status_code == 422


def test_the_quotes_are_those_that_carry_the_fact_or_that_people_marked(client: Client) -> None:
    run = run_one(client)
    row = int(run.index.find_all(PredictionQuery(q="land18", relation="capital", label="yes"))[0])
    step = {"bag": run.fact(row)["bag"], "relation": "capital", "key": "a-key-of-mine"}
    marks = [{"sentence": place, "label": "unsure"} for place in range(run.fact(row)["num_sentences"])]
    client.post("/api/annotate/marks", json={**step, "marks": marks})
    assert client.post("/api/annotate/submit", json={**step, "key": "another-key"}).status_code == 200
    decide(client, "accepted", "land18")
    (decided,) = client.get("/api/decisions").json()
    evidence = run.explanation(row).evidence
    carrying = [each for each in evidence if each.is_in_smallest or each.mark == "rationale"] or evidence[:1]
    assert [quote["rank"] for quote in decided["quotes"]] == [each.rank for each in carrying]
    quoted = ["".join(quote[part] for part in ("prefix", "exact", "suffix")) for quote in decided["quotes"]]
    assert quoted == [each.sentence.written for each in carrying]


def test_the_interface_decides_and_undoes(client: Client) -> None:
    bag = run_one(client).fact(0)["bag"]
    step = {**FACT, "bag": bag, "decision": "accepted", "key": "a-key-of-mine"}
    for _ in range(2):
        assert client.post("/api/decisions", json=step).status_code == 200
    (decided,) = client.get("/api/decisions").json()
    undone = client.post("/api/decisions/undo", json={"key": "another-key"}).json()
    assert undone["head_id"] == decided["head_id"]
    assert client.get("/api/decisions").json() == []
    assert client.post("/api/decisions/undo", json={"key": "one-more-key"}).json()["head_id"] == ""


def test_deciding_needs_a_name_and_a_form_token(client: Client) -> None:
    bag = str(run_one(client).fact(0)["bag"])
    forged = client.post(
        "/decisions/decide", data={**FACT, "bag": bag, "decision": "accepted"}, headers={"X-Form-Token": "x"}
    )
    assert forged.status_code == 403
    client.cookies.clear()
    assert client.post("/api/decisions", json={}).json()["error"]["status"] == 403
    assert "Sign in" in client.get(f"/predictions/one/fact?bag={bag}&relation=capital").text
    client.get("/sign-in")


def test_what_cannot_be_decided_is_refused(client: Client) -> None:
    for changes in (
        {"decision": "perhaps"},
        {"run": "three"},
        {"run": "x" * 400},
        {"bag": "99999"},
        {"bag": str(10**20)},
        {"reason": "x" * 3_000},
    ):
        values = {**FACT, "bag": str(run_one(client).fact(0)["bag"]), "decision": "accepted", **changes}
        assert client.post("/decisions/decide", data=values).status_code in (404, 422), changes
    assert client.get("/api/decisions").json() == []


def test_a_file_of_decisions_is_named_after_the_store_its_content_and_the_day(
    client: Client, settings: ServeSettings
) -> None:
    decide(client, "accepted")
    answer = client.get("/decisions/files/csv")
    name = f"{settings.data.parent.name}-accepted-{now()[:10]}.csv"
    assert f'filename="{name}"' in answer.headers["content-disposition"]
    answer = client.get("/api/decisions/files/decisions")
    assert f"-decisions-{now()[:10]}.jsonl" in answer.headers["content-disposition"]
    names = {"head_name": "north_land18", "tail_name": "port_town18"}
    assert names.items() <= json.loads(answer.text).items()


def test_a_download_without_facts_says_why(client: Client) -> None:
    page = client.get("/decisions").text
    assert "nothing to export: no fact is accepted yet" in page
    assert 'href="/decisions/files/csv"' not in page
    decide(client, "rejected")
    assert "Nothing to export: no fact is accepted yet." in client.get("/decisions/files/csv").text
    decide(client, "accepted")
    assert 'href="/decisions/files/csv"' in client.get("/decisions").text
    for form, reason in (
        ("quickstatements", "facts without Wikidata ids are left out: this leaves out the only one"),
        ("quotes", "no decisions on sentences yet"),
        ("exceptions", "no sentence of a document is rejected for a wrong entity yet"),
    ):
        answer = client.get(f"/api/decisions/files/{form}")
        assert answer.status_code == 404
        assert reason in answer.json()["error"]["message"]
