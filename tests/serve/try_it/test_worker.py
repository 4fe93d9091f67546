"""The worker with a trained model; the only workbench tests that load torch, in a separate process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.errors import UserError
from sayso.serve.try_it.process import Worker, WorkerError
from sayso.serve.try_it.worker import Question
from toy_run import make_run, make_store, toy_config

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("try")
    started = Worker.of_run(make_run(toy_config("type"), make_store(folder), folder / "run"))
    yield started
    started.close()


def question(**more: object) -> dict[str, object]:
    sentences = ["Port Town1 is the capital of North Land1.", "In North Land1, Port Town1 is where the king lives."]
    values = {"sentences": sentences, "heads": ["North Land1"], "tails": ["Port Town1"], "threshold": 0.0}
    return Question.model_validate(values | more).model_dump()


def test_relations_come_with_explanations(worker: Worker) -> None:
    answer = worker.ask(question())
    probabilities = [each["probability"] for each in answer["probabilities"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert {each["relation"] for each in answer["probabilities"]} == {"capital", "born"}
    first = answer["explanations"][0]
    assert first["relation"] == answer["probabilities"][0]["relation"]
    assert len(first["evidence"]) == 2
    assert first["evidence"][0]["seen"]


def test_one_relation_can_be_asked_for(worker: Worker) -> None:
    (only,) = worker.ask(question(relation="born"))["explanations"]
    assert only["relation"] == "born"


def test_a_type_that_is_given_is_what_the_model_sees(worker: Worker) -> None:
    answer = worker.ask(question(heads=["the king"], head_type="/person", sentences=["the king of Port Town1"]))
    assert answer["explanations"][0]["evidence"][0]["seen"][0] == "/person"


def test_a_sentence_that_lacks_a_name_does_not_keep_the_others_from_an_answer(worker: Worker) -> None:
    texts = ["Port Town1 is the capital of North Land1.", "North Land1 is far away."]
    answer = worker.ask(question(sentences=texts))
    assert answer["warnings"] == ["Left out: sentence 2: 'Port Town1' does not appear in “North Land1 is far away.”."]
    assert [len(each["evidence"]) for each in answer["explanations"]] == [1] * len(answer["explanations"])


def test_an_unknown_relation_and_a_missing_name_are_reported(worker: Worker) -> None:
    with pytest.raises(UserError, match="not one of the model's 2"):
        worker.ask(question(relation="unheard of"))
    with pytest.raises(UserError, match="sentence 1: 'Paris' does not appear in"):
        worker.ask(question(heads=["Paris"]))


def test_a_folder_without_a_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="model"):
        Worker.of_run(tmp_path).ask({})
