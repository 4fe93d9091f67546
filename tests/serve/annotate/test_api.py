from dataclasses import replace

import pytest
from pydantic import ValidationError

from sayso.annotate.marks import save_marks
from sayso.annotate.store import writing_to
from sayso.records import Mark
from sayso.serve.annotate.schemas import CommentRequest
from sayso.serve.server import ServeSettings
from toy_workbench import Person, open_client

FACT = {"bag": 0, "relation": "capital"}


def labels(person: Person, bag: int = 0, relation: str = "capital") -> list[str]:
    answer = person.client.get("/api/annotate/fact", params={"bag": bag, "relation": relation})
    assert answer.status_code == 200
    return [each["label"] for each in answer.json()["sentences"]]


def test_a_mark_is_saved_immediately_and_hidden_from_others(ada: Person, ben: Person) -> None:
    saved = ada.mark(0, "capital", "rationale")
    version = saved.pop("version")
    assert saved == {"num_marked": 1, "num_sentences": 3, "is_submitted": False, "is_pilot_done": False}
    assert ada.client.get("/api/annotate/fact", params=FACT).json()["version"] == version > 0
    assert labels(ada) == ["rationale", "", ""]
    assert labels(ben) == ["", "", ""]


def test_no_route_shows_other_peoples_marks_before_the_fact_is_closed(ada: Person, ben: Person) -> None:
    ada.mark(0, "capital", "rationale", "irrelevant", "unsure")
    ada.submit(0, "capital")
    assert "still waiting for other annotators" in ben.client.get("/api/annotations", params={"each": True}).text
    assert "rationale" not in ben.client.get("/api/annotations", params={"each": True}).text
    assert ben.client.get("/api/agreement/disagreements").json() == []
    assert "rationale</span>" not in ben.page("/agreement")
    assert ben.client.get("/agreement/fact", params=FACT).status_code == 404
    assert ben.client.get("/api/agreement").json()["overall"]["num_units"] == 0


def test_a_request_sent_twice_acts_once(ada: Person) -> None:
    for _ in range(2):
        ada.mark(0, "capital", "rationale", key="the same key")
    ada.mark(0, "capital", "irrelevant", key="another key")
    ada.mark(0, "capital", "rationale", key="the same key")
    assert labels(ada) == ["irrelevant", "", ""]


def test_undo_crosses_facts_and_submissions(ada: Person) -> None:
    ada.mark(0, "capital", "rationale", "unsure", "unsure")
    ada.submit(0, "capital")
    ada.mark(1, "capital", "irrelevant")
    undone = [ada.ask("POST", "/annotate/undo", key=f"undo number {number}") for number in range(4)]
    assert undone[0] == {
        "fact": {"bag": 1, "relation": "capital"},
        "marks": [{"sentence": 0, "label": ""}],
        "is_more": False,
        "version": undone[0]["version"],
    }
    assert undone[1] == {"fact": FACT, "marks": [], "is_more": True, "version": undone[1]["version"]}
    assert sorted(each["sentence"] for each in undone[2]["marks"]) == [0, 1, 2]
    assert undone[3] == {"fact": None, "marks": [], "is_more": False, "version": 0}
    assert labels(ada) == ["", "", ""]


def test_undo_on_a_submitted_fact_reopens_it_whatever_was_done_last(ada: Person) -> None:
    ada.mark(0, "capital", "rationale", "unsure", "unsure")
    ada.submit(0, "capital")
    ada.ask("PUT", "/annotate/comment", **FACT, key="a comment", text="odd")
    ada.mark(1, "capital", "irrelevant")
    undone = [ada.ask("POST", "/annotate/undo", key=f"undo number {number}", fact=FACT) for number in (0, 0, 1, 2, 3)]
    reopened, again, *undone = undone
    assert reopened == again == {"fact": FACT, "marks": [], "is_more": True, "version": reopened["version"]}
    assert undone.pop(0)["is_more"], "the comment"
    assert [each["sentence"] for each in undone[0]["marks"]] == [2, 1, 0]
    assert undone[1]["fact"] == {"bag": 1, "relation": "capital"}, "nothing is left here: undo crosses facts"
    assert labels(ada) == labels(ada, 1) == ["", "", ""]


def test_undo_on_an_imported_fact_reopens_it_and_touches_no_other(ada: Person, settings: ServeSettings) -> None:
    ada.mark(1, "capital", "irrelevant")
    text = "port_town0 is the capital of north_land0 ."
    with writing_to(settings.database) as connection:
        save_marks(connection, [Mark("l0", "t0", "capital", text, "rationale", "Ada")])
    assert ada.ask("POST", "/annotate/undo", key="undo number 1", fact=FACT)["fact"] == FACT
    assert not ada.client.get("/api/annotate/fact", params=FACT).json()["is_submitted"]
    assert labels(ada) == ["rationale", "", ""]
    assert labels(ada, 1) == ["irrelevant", "", ""]


def test_a_request_from_an_earlier_version_of_the_fact_is_told_what_changed(ada: Person) -> None:
    version = ada.mark(0, "capital", "rationale")["version"]
    ada.ask("PUT", "/annotate/comment", **FACT, key="a comment", text="odd", version=version)
    stale = {**FACT, "version": version}
    marks = [{"sentence": 0, "label": "unsure"}]
    told = ada.ask("POST", "/annotate/marks", 409, **stale, key="another mark", marks=marks)["error"]["message"]
    assert told.startswith("In another tab or window you wrote the comment “odd”. This page now shows that")
    ada.mark(0, "capital", "rationale", "irrelevant", "unsure", key="the others")
    ada.submit(0, "capital")
    for method, path, more in (
        ("PUT", "comment", {"text": "not odd"}),
        ("PUT", "wrong", {"is_wrong": True}),
        ("POST", "submit", {}),
    ):
        told = ada.ask(method, f"/annotate/{path}", 409, **stale, key=f"stale {path}", **more)["error"]["message"]
        assert (
            "you marked sentence 2 as irrelevant, marked sentence 3 as unsure, wrote the comment “odd”, submitted"
            in told
        )
    ada.ask("POST", "/annotate/undo", 409, key="stale undo", fact=FACT, version=version)
    assert labels(ada) == ["rationale", "irrelevant", "unsure"]


def test_a_request_that_is_repeated_is_not_told_of_its_own_change(ada: Person) -> None:
    marks = [{"sentence": 0, "label": "unsure"}]
    first, again = (
        ada.ask("POST", "/annotate/marks", **FACT, key="one mark", marks=marks, version=0) for _ in range(2)
    )
    assert first == again
    ada.mark(0, "capital", "rationale")
    late = ada.ask("POST", "/annotate/marks", **FACT, key="one mark", marks=marks, version=0)
    assert late["version"] == first["version"], "the sender has not seen the later change"


def test_a_fact_with_open_sentences_is_not_submitted(ada: Person) -> None:
    ada.mark(0, "capital", "rationale")
    assert "2 of 3 sentences" in ada.submit(0, "capital", status=400)["error"]["message"]


def test_scores_are_there_only_after_the_submission(ada: Person) -> None:
    ada.mark(0, "capital", "rationale", "irrelevant", "unsure")
    assert ada.client.get("/api/annotate/fact", params=FACT).json()["scores"] == []
    assert "<meter" not in ada.page("/annotate/fact", **FACT)
    ada.submit(0, "capital")
    (scores,) = ada.client.get("/api/annotate/fact", params=FACT).json()["scores"]
    assert sorted(scores["ranks"]) == [1, 2, 3]
    assert scores["ranks"][scores["scores"].index(max(scores["scores"]))] == 1
    assert "<meter" in ada.page("/annotate/fact", **FACT)


def test_a_sentence_that_the_bag_does_not_have_is_refused(ada: Person) -> None:
    marks = [{"sentence": 3, "label": "rationale"}]
    ada.ask("POST", "/annotate/marks", 422, **FACT, key="some key", marks=marks)
    ada.ask("PUT", "/annotate/place", 422, **FACT, sentence=3)


def test_an_unknown_key_is_refused(ada: Person) -> None:
    marks = [{"sentence": 0, "label": "rationale"}]
    ada.ask("POST", "/annotate/marks", 422, **FACT, key="some key", marks=marks, lable="unsure")
    ada.ask("POST", "/annotate/undo", 422, key="some key", bag=0)
    ada.ask("PUT", "/annotate/place", 422, **FACT, sentence=0, place=1)
    assert labels(ada) == ["", "", ""]


def test_a_fact_is_assigned_to_as_many_people_as_wanted(ada: Person, ben: Person) -> None:
    ada.ask("PUT", "/queue", annotators_per_fact=1)
    ada.mark(0, "capital", "rationale")
    marks = [{"sentence": 0, "label": "rationale"}]
    refused = ben.ask("POST", "/annotate/marks", 400, **FACT, key="some key", marks=marks)
    assert "enough annotators" in refused["error"]["message"]


def test_next_and_previous_follow_the_persons_own_facts(ada: Person) -> None:
    first = ada.ask("POST", "/annotate/next")["fact"]
    second = ada.ask("POST", "/annotate/next", **first)["fact"]
    assert first != second
    assert ada.ask("POST", "/annotate/previous", **second)["fact"] == first
    assert ada.ask("POST", "/annotate/next", **first)["fact"] == second


def test_the_queue_ends(ada: Person) -> None:
    ada.ask("PUT", "/queue", relations=["contains"])
    only = ada.ask("POST", "/annotate/next")["fact"]
    assert only == {"bag": 0, "relation": "contains"}
    assert ada.ask("POST", "/annotate/next", **only) == {"fact": None}


def test_work_is_resumed_exactly_where_it_was_left(ada: Person, settings: ServeSettings) -> None:
    ada.mark(1, "capital", "rationale")
    ada.ask("PUT", "/annotate/place", bag=1, relation="capital", sentence=2)
    with open_client(settings) as again:
        later = Person(again, "Ada")
        assert "/annotate/fact?bag=1&amp;relation=capital" in later.page("/annotate")
        assert 'data-place="2" data-submitted=""' in " ".join(
            later.page("/annotate/fact", bag=1, relation="capital").split()
        )


def test_a_comment_may_have_lines_but_no_control_characters(ada: Person) -> None:
    ada.ask("PUT", "/annotate/comment", **FACT, key="a comment", text="odd:\r\n\tvery")
    with pytest.raises(ValidationError, match=r"the text contains the control character '.x1b'"):
        CommentRequest(**FACT, key="a comment", text="odd \x1b[2J")


def test_comment_and_flag(ada: Person) -> None:
    ada.ask("PUT", "/annotate/comment", **FACT, key="a comment", text="odd")
    ada.ask("PUT", "/annotate/wrong", **FACT, key="the flag", is_wrong=True)
    answer = ada.client.get("/api/annotate/fact", params=FACT).json()
    assert (answer["comment"], answer["is_wrong"]) == ("odd", True)


def test_a_finished_pilot_round_shows_its_outcome_and_cannot_be_undone(ada: Person) -> None:
    assert ada.ask("PUT", "/queue", num_pilot=2)["num_pilot"] == 2
    facts = [ada.ask("POST", "/annotate/next")["fact"]]
    facts.append(ada.ask("POST", "/annotate/next", **facts[0])["fact"])
    is_done = []
    for fact in facts:
        ada.mark(fact["bag"], "capital", "rationale", "irrelevant", "irrelevant")
        is_done.append(ada.submit(fact["bag"], "capital")["is_pilot_done"])
    assert is_done == [False, True]
    assert ada.client.get("/api/pilot").json()["kappa"] == 1.0
    assert "100 %" in ada.page("/annotate/pilot")
    refused = ada.ask("POST", "/annotate/undo", 400, key="undo it all")["error"]["message"]
    assert refused.startswith("You have finished the pilot round")
    assert refused.endswith(".")
    assert ada.client.get("/api/annotate/fact", params=facts[1]).json()["is_submitted"]


def test_undo_leaves_alone_what_was_marked_in_another_part(ada: Person, settings: ServeSettings) -> None:
    ada.mark(0, "capital", "rationale")
    with open_client(replace(settings, part="validation", runs=())) as other:
        elsewhere = Person(other, "Ada")
        elsewhere.mark(0, "capital", "unsure", key="in the other part")
        undone = [elsewhere.ask("POST", "/annotate/undo", key=f"undo number {number}") for number in range(2)]
    assert [each["fact"] for each in undone] == [FACT, None]
    assert labels(ada) == ["rationale", "", ""]


def test_the_row_of_another_part_does_not_end_this_one(ada: Person, settings: ServeSettings) -> None:
    first = ada.ask("POST", "/annotate/next")["fact"]
    with open_client(replace(settings, part="validation", runs=())) as other:
        elsewhere = Person(other, "Ada")
        here = elsewhere.ask("POST", "/annotate/next")["fact"]
        assert elsewhere.ask("POST", "/annotate/previous", **here) == {"fact": None}
    second = ada.ask("POST", "/annotate/next", **first)["fact"]
    assert second not in (None, first)
    assert ada.ask("POST", "/annotate/previous", **second) == {"fact": first}


def test_a_pilot_round_of_another_part_is_not_asked_for(ada: Person, settings: ServeSettings) -> None:
    ada.ask("PUT", "/queue", num_pilot=2)
    with open_client(replace(settings, part="validation", runs=())) as other:
        elsewhere = Person(other, "Ada")
        assert elsewhere.client.get("/api/pilot").json()["num_facts"] == 0
        assert elsewhere.ask("POST", "/annotate/next")["fact"] is not None
    assert ada.client.get("/api/pilot").json()["num_facts"] == 2
