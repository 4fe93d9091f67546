from sayso.annotate.guideline import USUAL
from toy_workbench import NUM_PAIRS, Person


def test_the_queue_is_changed_for_everybody(ada: Person, ben: Person) -> None:
    wanted = {"annotators_per_fact": 3, "relations": ["capital"], "order": "random", "num_pilot": 0}
    assert ada.ask("PUT", "/queue", **wanted) == wanted
    assert ben.client.get("/api/queue").json() == wanted
    assert ben.client.get("/api/progress").json()["num_facts"] == NUM_PAIRS + 1


def test_an_unknown_relation_is_refused(ada: Person) -> None:
    assert "no relation 'born'" in ada.ask("PUT", "/queue", 400, relations=["born"])["error"]["message"]


def test_settings_that_make_no_sense_are_refused(ada: Person) -> None:
    assert (
        400 <= ada.client.put("/api/queue", json={"order": "x"}, headers={"X-Form-Token": ada.token}).status_code < 500
    )


def test_the_pilot_round_is_as_large_as_there_are_known_answers(ada: Person) -> None:
    assert ada.ask("PUT", "/queue", num_pilot=50)["num_pilot"] == NUM_PAIRS
    assert ada.ask("PUT", "/queue", num_pilot=0)["num_pilot"] == 0


def test_progress_counts_everybodys_work(ada: Person, ben: Person) -> None:
    ada.mark(0, "capital", "rationale", "irrelevant", "unsure")
    ada.submit(0, "capital")
    ben.mark(0, "capital", "rationale")
    assert ada.client.get("/api/progress").json()["people"] == [
        {"annotator": "Ada", "num_submitted": 1, "num_marks": 3},
        {"annotator": "Ben", "num_submitted": 0, "num_marks": 1},
    ]


def test_the_guideline_is_changed_and_brought_back(ada: Person) -> None:
    assert ada.ask("PUT", "/guideline", text="read\n\ntwice") == {"text": "read\n\ntwice"}
    assert "<p>twice</p>" in ada.page("/annotate/guideline")
    assert ada.ask("PUT", "/guideline", text=" ") == {"text": USUAL}
