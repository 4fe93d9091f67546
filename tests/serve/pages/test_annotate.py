from html import unescape

from toy_predictions import hostile_lines
from toy_workbench import NUM_PAIRS, Person

HOSTILE_BAG = NUM_PAIRS


def test_the_first_page_leads_through_the_door_to_the_work(ada: Person) -> None:
    page = ada.page("/")
    assert "Annotate" in page
    assert "Ada" in page


def test_the_relation_and_its_definition_are_on_the_page(ada: Person) -> None:
    page = ada.page("/annotate/fact", bag=0, relation="capital")
    assert "The tail is the seat of government of the head." in page
    assert "Oslo is the capital of Norway." in page
    assert '<mark class="head">north land0</mark>' in page
    assert '<mark class="tail">port town0</mark>' in page


def test_sentences_are_shown_as_their_documents_write_them(ada: Person) -> None:
    page = ada.page("/annotate/fact", bag=0, relation="capital")
    assert 'he left <mark class="head">north land0</mark> for <mark class="tail">port town0</mark>.' in page
    assert " ." not in page.split('id="sentences"')[1].split("</ol>")[0]


def test_hostile_sentences_and_names_are_text(ada: Person) -> None:
    page = ada.page("/annotate/fact", bag=HOSTILE_BAG, relation="capital")
    assert "<script>alert" not in page
    assert "<i>land" not in page
    assert "<b>port" not in page
    for line in hostile_lines():
        first = line.split("\t")[5].split()[0]
        assert first in unescape(page)


def test_a_hostile_comment_name_and_guideline_are_text(ada: Person) -> None:
    nasty = "</textarea><script>alert(1)</script>"
    ada.ask("PUT", "/annotate/comment", bag=0, relation="capital", key="a comment", text=nasty)
    ada.ask("PUT", "/guideline", text=nasty)
    other = Person(type(ada.client)(ada.client.app, base_url=str(ada.client.base_url)), "<script>x</script>")
    for page in (
        ada.page("/annotate/fact", bag=0, relation="capital"),
        ada.page("/annotate/guideline"),
        other.page("/annotate"),
    ):
        assert "<script>" not in page


def test_starting_gives_a_fact(ada: Person) -> None:
    assert 'id="sentences"' in ada.post_form("/annotate")


def test_the_queue_form_saves(ada: Person) -> None:
    ada.page("/annotate/queue")
    home = ada.post_form("/annotate/queue", annotators_per_fact=3, order="random", num_pilot=2, relations=["capital"])
    assert "3 annotators each, order: random, 1 relations" in home
    assert "Pilot round first: 0 of 2" in home


def test_the_interface_page_lists_every_address(ada: Person) -> None:
    page = ada.page("/api")
    for path in ada.client.get("/api/openapi.json").json()["paths"]:
        assert path in page
