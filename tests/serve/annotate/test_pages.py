import re
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
    head, tail = '<mark class="head" dir="auto">north land0</mark>', '<mark class="tail" dir="auto">port town0</mark>'
    assert f"{tail} is the seat of government of {head}" in page
    assert "<title>port town0 is the seat of government of north land0 · sayso</title>" in page


def test_sentences_are_shown_as_their_documents_write_them(ada: Person) -> None:
    page = ada.page("/annotate/fact", bag=0, relation="capital")
    assert (
        'he left <mark class="head" dir="auto">north land0</mark> for <mark class="tail" dir="auto">port town0</mark>.'
        in page
    )
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
    wanted = {"annotators_per_fact": 3, "order": "random", "relations": ["capital"]}
    home = ada.post_form("/annotate/queue", num_pilot=0, **wanted)
    assert "3 annotators per fact, order: random, 1 relation." in home


def test_the_queue_form_says_which_facts_another_number_of_annotators_applies_to(ada: Person) -> None:
    assert "Applies to facts not yet assigned.<" in ada.page("/annotate/queue")
    ada.ask("POST", "/annotate/next")
    assert "Applies to facts not yet assigned; 1 assigned fact keeps its number.<" in ada.page("/annotate/queue")


def test_another_pilot_round_is_confirmed_with_counts(ada: Person) -> None:
    ada.mark(0, "capital", "rationale", "irrelevant", "unsure")
    ada.submit(0, "capital")
    wanted = {"annotators_per_fact": 2, "order": "random", "num_pilot": 50, "relations": ["capital"]}
    asked = " ".join(ada.post_form("/annotate/queue", **wanted).split())
    assert f"Change the pilot round from 0 to {NUM_PAIRS - 1} facts?" in asked
    assert "You requested 50 facts" in asked
    assert f"{NUM_PAIRS - 1} facts added. 1 annotator who has already started will get them" in asked
    assert "1 finished fact, 1 of them outside the new pilot round, stays finished: 1 counts in agreement" in asked
    assert ada.client.get("/api/queue").json()["num_pilot"] == 0
    confirmed = dict(re.findall(r'type="hidden" name="(?!form_token)(\w+)" value="(\w*)"', asked))
    home = ada.post_form("/annotate/queue", **confirmed)
    assert f"Start with the pilot round: 0 of {NUM_PAIRS - 1}" in home
    assert "order: random, 1 relation." in home


def test_a_fact_of_a_finished_pilot_round_says_that_it_can_no_longer_be_changed(ada: Person) -> None:
    ada.ask("PUT", "/queue", num_pilot=1)
    fact = ada.ask("POST", "/annotate/next")["fact"]
    assert "when you finish the round" in ada.page("/annotate/fact", **fact)
    ada.mark(fact["bag"], "capital", "rationale", "irrelevant", "irrelevant")
    ada.submit(fact["bag"], "capital")
    page = ada.page("/annotate/fact", **fact)
    assert "which you have finished, so you can no longer change your marks on it" in page
    assert "once the round is done" not in page
    assert "takes the submission back" not in page


def test_practice_in_a_round_that_is_over_is_shown_as_such(ada: Person) -> None:
    ada.ask("PUT", "/queue", num_pilot=1)
    bag = ada.ask("POST", "/annotate/next")["fact"]["bag"]
    ada.mark(bag, "capital", "rationale", "irrelevant", "unsure")
    ada.submit(bag, "capital")
    assert "do not count" not in ada.page("/annotate/fact", bag=bag, relation="capital")
    ada.ask("PUT", "/queue", num_pilot=0)
    assert "practice and do not count" in ada.page("/annotate/fact", bag=bag, relation="capital")


def test_only_leads_see_what_changes_the_work(ada: Person, ben: Person) -> None:
    for address, control in (
        ("/annotate", "Change the queue"),
        ("/annotate/queue", 'action="/annotate/queue"'),
        ("/annotate/guideline", "Change the guideline"),
        ("/annotate/pilot", "/annotate/queue"),
    ):
        assert control in ada.page(address)
        assert control not in ben.page(address)
    for address in ("/annotate/queue", "/annotate/guideline"):
        fields = {"form_token": ben.token, "annotators_per_fact": 1, "order": "random", "num_pilot": 0}
        assert ben.client.post(address, data=fields).status_code == 403


def test_the_interface_page_lists_every_address(ada: Person) -> None:
    page = ada.page("/api")
    for path in ada.client.get("/api/openapi.json").json()["paths"]:
        assert path in page
