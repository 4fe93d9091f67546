import json
from typing import Any

from sayso.facts.web_annotation import web_annotations
from toy_facts import PLAIN, TOLD, make_decided


def annotations(*facts: Any) -> list[dict[str, Any]]:
    collection = json.loads(web_annotations(facts))
    assert collection["@context"][0] == "http://www.w3.org/ns/anno.jsonld"
    assert collection["type"] == "AnnotationCollection"
    assert collection["total"] == len(facts)
    items: list[dict[str, Any]] = collection["first"]["items"]
    return items


def test_a_fact_is_a_statement_about_its_quotes() -> None:
    (item,) = annotations(make_decided())
    statement, reason = item["body"]
    assert statement["rdf:subject"] == {"id": "urn:x-sayso:entity:Q1030", "label": "Namibia"}
    assert statement["rdf:predicate"]["label"] == "/location/country/capital"
    assert statement["rdf:object"]["label"] == "Windhoek"
    assert reason["value"] == "the first sentence"
    assert item["creator"]["name"] == "Ada"
    assert item["created"] == "2026-01-02T03:04:05.678Z"
    assert item["generator"]["id"] == "urn:x-sayso:model:abc"
    assert (item["sayso:mechanism"], item["sayso:probability"]) == ("shapley", 0.97)


def test_a_sentence_of_a_document_is_selected_by_position_and_then_by_its_text() -> None:
    (item,) = annotations(make_decided(quotes=(TOLD,)))
    (target,) = item["target"]
    assert target["source"] == "urn:x-sayso:document:nyt/7"
    selector = target["selector"]
    assert (selector["type"], selector["start"], selector["end"]) == ("TextPositionSelector", 120, 155)
    refined = selector["refinedBy"]
    assert refined["type"] == "TextQuoteSelector"
    assert (refined["prefix"], refined["exact"], refined["suffix"]) == TOLD[:3]
    assert (target["sayso:rank"], target["sayso:score"], target["sayso:mark"]) == (1, 2.5, "rationale")


def test_without_documents_a_quote_is_selected_by_its_text() -> None:
    (item,) = annotations(make_decided(quotes=(PLAIN,)))
    (target,) = item["target"]
    assert target["source"] == "urn:x-sayso:store:def"
    assert target["selector"]["type"] == "TextQuoteSelector"
    assert "sayso:mark" not in target


def test_the_same_facts_give_the_same_text_and_other_facts_other_ids() -> None:
    facts = [make_decided(), make_decided(tail_id="Q1")]
    assert web_annotations(facts) == web_annotations(facts)
    first, second = annotations(*facts)
    assert first["id"] != second["id"]


def test_no_facts_are_an_empty_collection() -> None:
    assert annotations() == []
