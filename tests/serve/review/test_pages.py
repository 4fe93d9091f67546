import csv
import io
import json
import re
import sqlite3
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from sayso.facts.fact import ExtractedFact
from sayso.records import Source
from sayso.serve.server import ServeSettings
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.tokens import Span
from toy_extraction import (
    CONTRADICTING,
    DEFAULT_ORDER,
    FACTS,
    HOSTILE_FACT,
    KNOWN,
    NEW,
    ids,
    write_found,
    write_found_manifest,
)
from toy_predictions import HOSTILE
from toy_workbench import Person, fact_lines, open_client


def listed(page: str) -> list[str]:
    return re.findall(r'class="open" href="/review/news/fact\?head=([^&]*)&amp;', page)


def decide(person: Person, fact: ExtractedFact, decision: str, **more: str) -> str:
    person.page("/review/news/fact", **ids(fact))
    return person.post_form("/review/news/decide", **ids(fact), decision=decision, **more)


def test_the_section_is_there_only_where_facts_are(client: TestClient, shelf: ServeSettings, tmp_path: Path) -> None:
    assert 'href="/review"' in client.get("/decisions").text
    assert client.get("/review?status=new").url.path == "/review/news"
    assert client.get("/review?status=new").url.query == b"status=new"
    with open_client(replace(shelf, database=tmp_path / "other.db")) as without:
        assert 'href="/review"' not in without.get("/decisions").text
        assert without.get("/review").status_code == 404


def test_the_table_lists_what_is_not_decided_new_ones_first(ada: Person) -> None:
    assert listed(ada.page("/review/news")) == [
        "Q0", "Q1", "Q2", "Q3", "Q4", "Q5", "h%3C1%3E%26%22", "Q21", "Q20",
    ]  # fmt: skip
    decide(ada, NEW[0], "accepted")
    page = ada.page("/review/news")
    assert listed(page)[0] == "Q1"
    assert "9 facts" in page
    assert "</code>, 1 decided" in page
    assert "badge accepted" in ada.page("/review/news", decision="any", status="new")


def test_a_list_of_nothing_says_why(ada: Person) -> None:
    assert "No facts match these filters" in ada.page("/review/news", decision="rejected")
    for fact in FACTS:
        decide(ada, fact, "rejected")
    assert "All facts are decided" in ada.page("/review/news")


def test_a_fact_is_shown_with_its_quotes_its_support_and_what_it_contradicts(ada: Person) -> None:
    page = unescape(ada.page("/review/news/fact", **ids(NEW[1])))
    assert "The tail is the seat of government of the head." in page
    assert "Rests on one sentence: 1 of 3 keeps the prediction (0.91 without the others)" in page
    assert 'So <mark class="exact" dir="auto">Windhoek is Namibia</mark> \'s capital .' in page.replace("\n", "")
    assert "https://example.org/7, characters 120–155" in page
    assert page.count('class="badge smallest"') == 1
    assert "1 more sentence is not in the file" in page
    assert "instead" not in page
    page = ada.page("/review/news/fact", **ids(CONTRADICTING))
    assert "The knowledge base has a different tail" in page
    assert '<bdi class="name">port town0</bdi> <span class="code">t0</span>, <span class="code">nobody</span>' in page
    assert "even without any sentence the probability is 0.80" in page


def test_pages_name_the_threshold_and_say_that_the_precision_of_new_facts_was_not_measured(
    shelf: ServeSettings, tmp_path: Path
) -> None:
    folder = write_found(tmp_path / "news")
    write_found_manifest(folder, threshold=0.85, threshold_chosen={"precision": 0.8, "recall": 0.7})
    with open_client(replace(shelf, database=tmp_path / "marks.db", facts=(folder,))) as client:
        listing = client.get("/review/news").text
        fact = client.get("/review/news/fact", params=ids(NEW[1])).text
        answer = client.get("/api/review/news/fact", params=ids(NEW[1])).json()
    assert (
        "Threshold 0.850: precision 0.80 and recall 0.70 on validation pairs;"
        " the precision of new facts was not measured and will be lower."
    ) in listing
    assert "Rests on one sentence at the threshold 0.85: 1 of 3 keeps the prediction" in fact
    assert answer["support"]["text"].startswith("Rests on one sentence at the threshold 0.85:")


def test_entities_that_the_knowledge_base_does_not_have_are_marked(shelf: ServeSettings, tmp_path: Path) -> None:
    new = replace(NEW[1], head_id="new:place/Zorg")
    folder = write_found(tmp_path / "news", (new, KNOWN))
    with open_client(replace(shelf, database=tmp_path / "marks.db", facts=(folder,))) as client:
        pages = [client.get("/review/news").text, client.get("/review/news", params={"group": "pair"}).text]
        pages.append(client.get("/review/news/fact", params=ids(new)).text)
        assert [page.count(">new entity</span>") for page in pages] == [1, 2, 1]
        assert "new entity" not in client.get("/review/news/fact", params=ids(KNOWN)).text
        assert client.get("/api/review/news/fact", params=ids(new)).json()["head_id"] == "new:place/Zorg"


def test_next_and_previous_are_those_of_the_list_as_it_was(ada: Person) -> None:
    page = ada.page("/review/news", relation="capital", status="new")
    first, second, _ = (unescape(each) for each in re.findall(r'class="open" href="([^"]*)"', page))
    shown = ada.page(first)
    assert "1 of 3" in shown
    (within,) = re.findall(r'name="within" value="([^"]*)"', shown.split("/decisions/undo")[0])
    shown = decide(ada, NEW[1], "accepted", within=unescape(within))
    assert "accepted</span> by Ada" in shown
    assert "1 of 3" in shown
    assert unescape(re.search(r'rel="next" href="([^"]*)"', shown)[1]) == second
    shown = ada.page(second)
    assert unescape(re.search(r'rel="prev" href="([^"]*)"', shown)[1]) == first
    back = unescape(re.search(r'href="([^"]*)">← Review', shown)[1])
    assert listed(ada.page(back)) == ["Q3", "Q5"]


def test_a_decision_is_listed_exported_withdrawn_and_undone(ada: Person) -> None:
    decide(ada, NEW[0], "accepted", reason=" <b>told</b> ")
    decide(ada, KNOWN, "rejected")
    page = ada.page("/decisions")
    assert "1 accepted" in page
    assert "&lt;b&gt;told&lt;/b&gt;" in page
    assert 'href="/review/news/fact?head=Q0&amp;relation=contains&amp;tail=T0"' in page
    (item,) = json.loads(ada.client.get("/decisions/files/jsonld").text)["first"]["items"]
    assert item["target"][0]["selector"]["refinedBy"]["exact"] == "Windhoek is Namibia"
    rows = list(csv.DictReader(io.StringIO(ada.client.get("/decisions/files/csv").text)))
    assert {row["reason"] for row in rows} == {"<b>told</b>"}
    assert {row["model_fingerprint"] for row in rows} == {"abc"}
    decisions = [json.loads(line) for line in ada.client.get("/decisions/files/decisions").text.splitlines()]
    assert {(each["head"], each["decision"]) for each in decisions} == {("Q0", "accepted"), ("Q20", "rejected")}
    undone = ada.post_form("/decisions/undo", facts="news", within="decision=any")
    assert "2 of 9" not in undone
    assert "9 of 9" in undone
    assert "by Ada" not in undone
    assert "by Ada" not in decide(ada, NEW[0], "withdrawn")
    assert "No decisions yet" in ada.page("/decisions")


def test_an_undo_goes_back_to_the_extraction_also_where_the_store_has_the_fact(
    shelf: ServeSettings, tmp_path: Path
) -> None:
    head_id, tail_id, *_ = fact_lines(0)[0].split("\t")
    fact = replace(KNOWN, head_id=head_id, relation="capital", tail_id=tail_id)
    facts = (write_found(tmp_path / "news", (fact,)),)
    with open_client(replace(shelf, database=tmp_path / "marks.db", facts=facts)) as client:
        ada = Person(client, "Ada")
        decide(ada, fact, "accepted")
        assert 'href="/predictions/run/fact?' in ada.page("/decisions")
        assert "← Review: news" in ada.post_form("/decisions/undo", facts="news")


def test_no_text_of_the_file_becomes_markup(ada: Person) -> None:
    decide(ada, HOSTILE_FACT, "accepted", reason="<b>sure</b>")
    for page in (
        ada.page("/review/news", decision="any", q="<i>land"),
        ada.page("/review/news/fact", **ids(HOSTILE_FACT)),
        ada.page("/decisions"),
    ):
        for tag in ("<script>alert", "<b>", "<i>", "<u>", "<s>run", "<em>"):
            assert tag not in page
        assert "<i>land</i>" in unescape(page)
    page = unescape(ada.page("/review/news/fact", **ids(HOSTILE_FACT)))
    assert HOSTILE["long"].split()[0] in page
    assert "<em>doc</em>, characters 0–9" in page


def test_several_extractions_have_tabs_and_names_of_their_own(shelf: ServeSettings, tmp_path: Path) -> None:
    folders = (write_found(tmp_path / "a" / "news"), write_found(tmp_path / "b" / "news", NEW))
    single = (tmp_path / "single.jsonl",)
    single[0].write_text(f"{KNOWN.to_json()}\n")
    with open_client(replace(shelf, database=tmp_path / "marks.db", facts=folders + single)) as client:
        page = client.get("/review/news-2", params={"status": "new"}).text
        assert re.findall(r'<a href="/review/([\w-]+)\?status=new"', page) == ["news", "news-2", "single"]
        assert "6 facts written by" in page
        assert "1 fact written by" in client.get("/review/single").text


def test_a_store_without_a_test_part_will_do(tmp_path: Path) -> None:
    lines = [line for pair in range(20) for line in fact_lines(pair)]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    settings = PrepareSettings(validation_share=0.3)
    prepare(Inputs(train=tmp_path / "train.txt"), settings, tmp_path / "store", lambda *_: None)
    facts = (write_found(tmp_path / "news"),)
    with open_client(ServeSettings(data=tmp_path / "store", database=tmp_path / "marks.db", facts=facts)) as client:
        assert client.get("/review/news").status_code == 200
        assert client.app.state.workbench.settings.part == "validation"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/review/elsewhere", 404),
        ("/review/news/fact?head=Q0&relation=contains&tail=nobody", 404),
        ("/review/news/fact?head=Q0&relation=contains", 422),
        ("/review/news?sort=colour", 422),
        ("/review/news?min_probability=nan", 422),
    ],
)
def test_unknown_paths_return_the_error_format(client: TestClient, address: str, status: int) -> None:
    answer = client.get(address)
    assert answer.status_code == status
    assert "<h1>" in answer.text
    assert set(client.get(f"/api{address}").json()["error"]) == {"status", "code", "message", "details"}


def test_a_bad_line_is_reported_on_its_page_and_other_pages_work(settings: ServeSettings) -> None:
    path = settings.facts[0] / "facts.jsonl"
    path.write_text(f"{FACTS[0].to_json()}\nnonsense\n")
    with open_client(settings) as client:
        answer = client.get("/review/news")
        assert answer.status_code == 400
        assert "facts.jsonl:2: not a fact written by `sayso extract --format jsonl`" in unescape(answer.text)
        assert client.get("/api/review").json()["error"]["code"] == "bad_request"
        assert client.get("/decisions").status_code == 200
        path.write_text(f"{FACTS[0].to_json()}\n")
        assert client.get("/review/news").status_code == 200


def test_deciding_needs_a_name_and_a_form_token(ada: Person) -> None:
    form = {**ids(NEW[0]), "decision": "accepted"}
    forged = ada.client.post("/review/news/decide", data={**form, "form_token": "x"})
    assert forged.status_code == 403
    stranger = Person(TestClient(ada.client.app, base_url=str(ada.client.base_url)))
    assert "Sign in" in stranger.page("/review/news/fact", **ids(NEW[0]))
    answer = stranger.client.post("/review/news/decide", data={**form, "form_token": stranger.token})
    assert answer.status_code in (401, 403)
    assert listed(ada.page("/review/news", decision="accepted")) == []


def test_a_damaged_decision_breaks_no_page_and_can_be_made_again(ada: Person, settings: ServeSettings) -> None:
    decide(ada, NEW[0], "accepted")
    with sqlite3.connect(settings.database) as connection:
        for table in ("entry", "event"):
            connection.execute(f"UPDATE {table} SET value = replace(value, '0.9', 'NaN') WHERE kind = 'decision'")
    with open_client(settings) as client:
        again = Person(client, "Ada")
        page = again.page("/review/news")
        assert listed(page)[0] == "Q0"
        assert "badge damaged" in page
        assert "damaged and cannot be read" in again.page("/review/news/fact", **ids(NEW[0]))
        assert "is damaged and left out of the downloads" in again.page("/decisions")
        assert "no fact is accepted yet" in client.get("/decisions/files/csv").text
        assert client.get("/api/decisions").json() == []
        decide(again, NEW[0], "rejected")
        assert "damaged" not in again.page("/decisions")


def test_files_say_how_far_people_have_come(ada: Person) -> None:
    assert ada.ask("GET", "/review") == [{"name": "news", "num_facts": len(FACTS), "num_decided": 0}]


def test_facts_come_in_pages(client: TestClient) -> None:
    answer = client.get("/api/review/news", params={"status": "new", "relation": "capital"}).json()
    expected = [fact for fact in DEFAULT_ORDER if fact.status == "new" and fact.relation == "capital"]
    assert [row["head_id"] for row in answer["rows"]] == [fact.head_id for fact in expected]
    assert (answer["num_found"], answer["page"], answer["num_pages"]) == (len(expected), 1, 1)


def test_a_fact_has_everything_that_the_file_says(client: TestClient) -> None:
    answer = client.get("/api/review/news/fact", params=ids(CONTRADICTING)).json()
    assert answer["contradicts"] == list(CONTRADICTING.contradicts)
    assert answer["support"]["text"].startswith("Not on the sentences")
    assert [quote["exact"] for quote in answer["quotes"]] == [quote.exact for quote in CONTRADICTING.quotes]
    assert answer["quotes"][0]["source"] == {"document_id": "https://example.org/7", "start": 120, "stop": 155}
    assert answer["decision"] == ""


def test_a_decision_is_saved_once_under_its_key_and_undone(ada: Person) -> None:
    step = {**ids(NEW[0]), "decision": "accepted", "reason": "told", "key": "a-key-of-mine"}
    for _ in range(2):
        ada.ask("POST", "/review/news/decisions", **step)
    (decided,) = ada.ask("GET", "/decisions")
    assert (decided["head_id"], decided["reason"], decided["run"]) == (NEW[0].head_id, "told", NEW[0].run)
    assert ada.client.get("/api/review/news/fact", params=ids(NEW[0])).json()["decision"] == "accepted"
    assert ada.ask("GET", "/review")[0]["num_decided"] == 1
    assert ada.ask("POST", "/decisions/undo", key="another-key")["head_id"] == NEW[0].head_id
    assert ada.ask("GET", "/review")[0]["num_decided"] == 0


def test_several_facts_are_decided_together_and_undone_together(ada: Person) -> None:
    decide(ada, NEW[1], "rejected", reason="old")
    wanted = [ids(fact) for fact in NEW[:3]]
    step = {"facts": wanted, "decision": "accepted", "reason": "told", "key": "a-key-of-mine"}
    for _ in range(2):
        ada.ask("POST", "/review/news/decisions/together", **step)
    assert {each["reason"] for each in ada.ask("GET", "/decisions")} == {"told"}
    assert ada.ask("GET", "/review")[0]["num_decided"] == 3
    undone = ada.ask("POST", "/decisions/undo", key="another-key")
    assert undone["facts"] == [fact | {"decision": "rejected" if fact == ids(NEW[1]) else ""} for fact in wanted]
    (left,) = ada.ask("GET", "/decisions")
    assert (left["head_id"], left["reason"]) == (NEW[1].head_id, "old")
    unknown = [*wanted, {**wanted[0], "head": "nobody"}]
    ada.ask("POST", "/review/news/decisions/together", 404, **(step | {"facts": unknown, "key": "a-third-key"}))
    ada.ask("POST", "/review/news/decisions/together", 422, **(step | {"facts": [], "key": "a-fourth-key"}))
    assert len(ada.ask("GET", "/decisions")) == 1


def test_the_next_page_starts_after_the_facts_decided_on_this_one(ada: Person) -> None:
    page = ada.page("/review/news")
    (since,) = set(re.findall(r"since%3D(\d+)", page))
    decide(ada, NEW[0], "accepted")
    begun = ada.page("/review/news", since=since, sort="status")
    assert listed(begun)[:2] == ["Q0", "Q1"]
    assert len(listed(begun)) == len(FACTS)
    assert set(re.findall(r"since%3D(\d+)", begun)) == {since}


def test_facts_are_grouped_by_sentence_with_its_text(ada: Person) -> None:
    page = ada.page("/review/news", group="sentence", decision="any")
    assert page.count('class="group"') == 2
    assert "8 facts</span>" in page
    assert "So Windhoek is Namibia" in unescape(page)
    assert "Select the 8 facts of this sentence" in page
    assert ada.page("/review/news", group="pair", decision="any").count('class="group"') == len(FACTS)
    one = ada.page("/review/news", sentence="0", decision="any")
    assert "Only facts that quote this sentence" in one
    assert len(listed(one)) == len(FACTS) - 1


def test_a_quote_is_rejected_with_a_reason_and_the_fact_lives_on(ada: Person) -> None:
    decide(ada, NEW[0], "accepted")
    step = {**ids(NEW[0]), "sentence": NEW[0].quotes[0].sentence, "decision": "rejected", "reason": "negated"}
    for _ in range(2):
        ada.ask("POST", "/review/news/quotes", **step, key="a-key-of-mine")
    fact = ada.client.get("/api/review/news/fact", params=ids(NEW[0])).json()
    assert fact["decision"] == "accepted"
    assert [(each["decision"], each["reason"]) for each in fact["quotes"]] == [("rejected", "negated"), ("", "")]
    text = "Without the rejected sentence, the fact is not predicted: the others reach 0.12."
    assert fact["remaining"] == {"kind": "not_predicted", "text": text}
    page = unescape(ada.page("/review/news/fact", **ids(NEW[0])))
    assert text in page
    assert 'badge rejected">negated</span>' in page
    rows = list(csv.DictReader(io.StringIO(ada.client.get("/decisions/files/csv").text)))
    assert [row["quote_reason"] for row in rows] == ["negated", ""]
    assert ada.client.get("/api/decisions/files/quotes").text.count("negated") == 1
    assert ada.ask("GET", "/decisions/reasons") == [{"reason": "negated", "num_quotes": 1, "num_facts": 1}]
    listed_reasons = re.sub(r"\s+", " ", ada.page("/decisions"))
    assert '<th scope="row">negated</th><td>1</td><td>1</td>' in listed_reasons
    undone = ada.ask("POST", "/decisions/undo", key="another-key", facts="news")
    assert undone["facts"] == [{**ids(NEW[0]), "decision": "accepted"}]
    fact = ada.client.get("/api/review/news/fact", params=ids(NEW[0])).json()
    assert (fact["remaining"], fact["quotes"][0]["decision"]) == (None, "")


def test_wrong_entities_become_exceptions_for_the_next_build(ada: Person) -> None:
    step = {
        **ids(NEW[0]),
        "sentence": NEW[0].quotes[0].sentence,
        "decision": "rejected",
        "reason": "wrong entity (tail)",
        "key": "a-key-of-mine",
    }
    ada.ask("POST", "/review/news/quotes", **step)
    assert ada.client.get("/decisions/files/exceptions").text == "https://example.org/7\t120\t155\tT0\n"


def test_a_quote_that_cannot_be_decided_on_is_refused(ada: Person) -> None:
    step = {
        **ids(NEW[0]),
        "sentence": NEW[0].quotes[0].sentence,
        "decision": "rejected",
        "reason": "negated",
        "key": "a-key-of-mine",
    }
    for changes, status in (
        ({"sentence": "Another extraction quoted this ."}, 404),
        ({"sentence": ""}, 422),
        ({"rank": 1}, 422),
        ({"decision": "needs_evidence"}, 422),
        ({"reason": "told\0"}, 422),
        ({"colour": "red"}, 422),
        ({"head": "nobody"}, 404),
    ):
        ada.ask("POST", "/review/news/quotes", status, **(step | changes))
    assert ada.ask("GET", "/decisions/reasons") == []


def test_a_quote_is_shown_in_its_document(shelf: ServeSettings, tmp_path: Path) -> None:
    text = "One. Two. So Windhoek is Namibia 's capital . Three. <b>Four.</b> Five."
    start = text.index("So")
    where = Source("nyt/7", start, text.index(" Three"))
    spans = {"head_spans": (Span(15, 22),), "tail_spans": (Span(3, 11),)}
    fact = replace(KNOWN, quotes=(KNOWN.quotes[0]._replace(source=where, **spans),))
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "nyt/7", "text": text}) + "\n")
    facts = (write_found(tmp_path / "news", (fact,)),)
    opened = replace(shelf, database=tmp_path / "marks.db", facts=facts, documents=tmp_path / "docs.jsonl")
    with open_client(replace(opened, reasons=("too old",))) as client:
        page = Person(client, "Ada").page("/review/news/fact", **ids(fact))
        assert '<span class="soft">One. Two.</span>' in page
        assert '<span class="soft">Three. Four.</span>' in page
        assert (
            'So <mark class="tail" dir="auto">Windhoek</mark> is <mark class="head" dir="auto">Namibia</mark>' in page
        )
        assert 'data-reason="too old"' in page
        assert "negated" not in page
        (link,) = re.findall(r'href="(/review/news/document[^"]*)#quote"', page)
        document = client.get(unescape(link)).text
        assert (
            f'One. Two. <mark class="exact" id="quote">{escape(text[where.start : where.stop])}</mark> Three.'
            in document
        )
        assert "&lt;b&gt;Four." in document
        assert client.get("/review/news/document", params={"id": "../marks.db"}).status_code == 404


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
        ada.ask("POST", "/review/news/decisions", status, **(step | changes))
    ada.ask("POST", "/review/elsewhere/decisions", 404, **step)
    assert ada.ask("GET", "/decisions") == []


def test_the_interface_is_described(client: TestClient) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {path for path in paths if path.startswith("/api/review")} == {
        "/api/review",
        "/api/review/{facts}",
        "/api/review/{facts}/fact",
        "/api/review/{facts}/decisions",
        "/api/review/{facts}/decisions/together",
        "/api/review/{facts}/quotes",
    }
