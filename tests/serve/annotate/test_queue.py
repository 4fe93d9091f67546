from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from sayso.serve.server import ServeSettings
from toy_workbench import NUM_PAIRS, Person, open_client


def test_the_queue_is_changed_for_everyone(ada: Person, ben: Person) -> None:
    wanted = {"annotators_per_fact": 3, "relations": ["capital"], "order": "random", "num_pilot": 0}
    assert ada.ask("PUT", "/queue", **wanted) == {**wanted, "pilot_change": None}
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


def test_progress_counts_everyones_work(ada: Person, ben: Person) -> None:
    ada.mark(0, "capital", "rationale", "irrelevant", "unsure")
    ada.submit(0, "capital")
    ben.mark(0, "capital", "rationale")
    told = ada.client.get("/api/progress").json()
    assert [(each["annotator"], each["num_submitted"], each["num_marks"]) for each in told["people"]] == [
        ("Ada", 1, 3),
        ("Ben", 0, 1),
    ]
    assert all(each["last_active"].startswith("20") for each in told["people"])
    num = told["num_facts"]
    assert (told["num_complete"], told["num_needed"], told["per_day"]) == (0, 2 * num - 1, 1.0)
    assert told["days_left"] == 2 * num - 1
    assert f"<b>0 of {num}</b> facts of the queue complete" in ben.page("/annotate")
    ben.mark(0, "capital", "rationale", "irrelevant", "unsure")
    ben.submit(0, "capital")
    assert f"<b>1 of {num}</b> facts of the queue complete" in ben.page("/annotate")


def test_only_leads_see_the_pilot_scores_of_others(ada: Person, ben: Person) -> None:
    ada.ask("PUT", "/queue", num_pilot=1)
    bag = ben.ask("POST", "/annotate/next")["fact"]["bag"]
    ben.mark(bag, "capital", "rationale", "rationale", "irrelevant")
    assert "0 of 1 facts" in ada.page("/annotate")
    ben.submit(bag, "capital")
    (score,) = ada.ask("GET", "/pilot/people")
    assert (score["annotator"], score["result"]["num_done"]) == ("Ben", 1)
    assert score["result"]["percent"] == pytest.approx(2 / 3)
    assert "67 % of 3 marks match" in ada.page("/annotate")
    ben.ask("GET", "/pilot/people", 403)
    assert "marks match, κ" not in ben.page("/annotate").split("<h2>Progress</h2>")[1]


def test_only_leads_change_settings_for_everyone(ada: Person, ben: Person) -> None:
    assert "Only a lead can change this" in ben.ask("PUT", "/queue", 403, num_pilot=2)["error"]["message"]
    ben.ask("PUT", "/guideline", 403, text="mark everything")
    assert ada.client.get("/api/queue").json()["num_pilot"] == 0
    ada.ask("PUT", "/queue", num_pilot=2)


def test_the_only_local_user_leads_and_several_need_a_named_lead(settings: ServeSettings) -> None:
    with open_client(replace(settings, leads=())) as client:
        ada = Person(client, "Ada")
        ada.ask("PUT", "/queue", annotators_per_fact=3)
        ben = Person(TestClient(client.app, base_url=str(client.base_url)), "Ben")
        for person in (ada, ben):
            person.ask("PUT", "/queue", 403, annotators_per_fact=1)
        ben.post_form("/sign-out")
        ada.ask("PUT", "/queue", annotators_per_fact=2)


@pytest.mark.parametrize("key", ["annotator_per_fact", "pilot"])
def test_an_unknown_setting_is_refused_and_resets_nothing(ada: Person, key: str) -> None:
    ada.ask("PUT", "/queue", annotators_per_fact=3, order="random")
    refused = ada.ask("PUT", "/queue", 422, **{key: 1})["error"]
    assert refused["details"] == [f"{key}: unknown key"]
    queue = ada.client.get("/api/queue").json()
    assert (queue["annotators_per_fact"], queue["order"]) == (3, "random")


def test_settings_that_are_left_out_stay(ada: Person) -> None:
    ada.ask("PUT", "/queue", num_pilot=2, relations=["capital"])
    changed = ada.ask("PUT", "/queue", order="random")
    assert (changed["num_pilot"], changed["relations"], changed["pilot_change"]) == (2, ["capital"], None)


def finish(person: Person, bag: int) -> None:
    person.mark(bag, "capital", "rationale", "irrelevant", "unsure")
    person.submit(bag, "capital")


def test_finished_work_counts_whatever_size_the_pilot_round_gets(ada: Person, ben: Person) -> None:
    for person in (ada, ben):
        for bag in range(3):
            finish(person, bag)

    def counted() -> tuple[int, int]:
        units = ada.client.get("/api/agreement").json()["overall"]["num_units"]
        return units, len(ada.client.get("/api/annotations", params={"each": True}).text.splitlines())

    before = counted()
    assert before == (9, 18)
    for size, num in ((100, NUM_PAIRS - 3), (1, 1), (0, 0)):
        assert ada.ask("PUT", "/queue", num_pilot=size)["num_pilot"] == num
        assert counted() == before


def test_a_change_of_the_pilot_round_is_reported_in_counts(ada: Person, ben: Person) -> None:
    finish(ben, 0)
    told = ada.client.put("/api/queue?dry_run=true", json={"num_pilot": 3}, headers={"X-Form-Token": ada.token}).json()
    counts = {"num_before": 0, "num_wanted": 3, "num_after": 3, "num_added": 3, "num_people": 1}
    finished = {"num_submitted": 1, "num_outside": 1, "num_finished": 1}
    assert told["pilot_change"] == counts | finished | {"num_back_in_queue": 0, "num_practised": 0}
    assert ada.client.get("/api/queue").json()["num_pilot"] == 0
    assert ada.ask("PUT", "/queue", num_pilot=3) == told
    practised = ada.ask("POST", "/annotate/next")["fact"]["bag"]
    finish(ada, practised)
    change = ada.ask("PUT", "/queue", num_pilot=0)["pilot_change"]
    assert (change["num_before"], change["num_after"], change["num_added"]) == (3, 0, 0)
    assert (change["num_back_in_queue"], change["num_practised"], change["num_finished"]) == (2, 1, 1)
    assert (change["num_submitted"], change["num_outside"]) == (2, 2)


def test_blindness_is_not_lifted_by_lowering_the_number_of_annotators(ada: Person, ben: Person) -> None:
    finish(ben, 0)
    ada.ask("PUT", "/queue", annotators_per_fact=1)
    assert ada.client.get("/api/annotations", params={"each": True}).status_code == 404
    assert ada.client.get("/api/agreement/disagreements").json() == []
    ada.ask("PUT", "/queue", annotators_per_fact=5)
    finish(ada, 0)
    assert len(ada.client.get("/api/annotations", params={"each": True}).text.splitlines()) == 6
