import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from project.toy_project import NUM, SMALL, change, make_project, write_world
from sayso.annotate.decisions import decide_on_extracted
from sayso.annotate.store import writing_to
from sayso.documents.settings import BuildInputs
from sayso.facts.file import read_extracted
from sayso.library import load
from sayso.project import Project, new_project, open_project
from sayso.project.run import RECORDS, plan_project, read_stages, run_project
from sayso.project.stages import DECISIONS, StageProgress
from sayso.readers.tables import FactDecision
from sayso.records import Triple
from sayso.store.store import Store
from toy_encoder import write_encoder

STAGES = ["build", "check", "vectors", "prepare", "train", "extract"]


@contextmanager
def quiet(name: str, number: int, num: int, reason: str) -> Iterator[StageProgress]:
    yield StageProgress()


def run(project: Project, **options: Any) -> dict[str, str]:
    """Run the project; return the reason of each stage that was done, and the status of the others."""
    results = list(run_project(project, quiet, **options))
    return {each.stage: each.reason if each.status == "done" else each.status for each in results}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("project")
    project = make_project(folder / "mine", write_world(folder / "files"))
    assert run(project) == dict.fromkeys(STAGES, "first time")
    return project


@pytest.fixture
def copied(project: Project, tmp_path: Path) -> Project:
    for name in ("mine", "files"):
        shutil.copytree(project.folder.parent / name, tmp_path / name)
    return open_project(tmp_path / "mine")


def test_all_results_are_there_and_a_second_run_does_nothing(project: Project) -> None:
    assert Store(project.store).num_folds == 2
    assert load(project.run).variant == "CNNs+OR+C+F"
    assert (project.facts / "facts.jsonl").is_file()
    before = (project.folder / RECORDS).read_bytes()
    assert run(project) == dict.fromkeys(STAGES, "unchanged")
    assert (project.folder / RECORDS).read_bytes() == before
    assert [each.status for each in plan_project(project)] == ["unchanged"] * len(STAGES)


def test_a_run_that_is_killed_before_it_trains_with_new_settings_starts_again(copied: Project) -> None:
    @contextmanager
    def killed(name: str, *_: object) -> Iterator[StageProgress]:
        if name == "train":
            raise KeyboardInterrupt
        yield StageProgress()

    project = change(copied.folder, ("seeds = 1", "seeds = 2"))
    with pytest.raises(KeyboardInterrupt):
        list(run_project(project, killed))
    assert run(project)["train"] == "was interrupted"
    assert sorted(each.name for each in project.run.glob("seed-*")) == ["seed-13", "seed-14"]


def test_with_an_encoder_the_recommended_config_is_trained_without_word_vectors(tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "my encoder")
    new_project(tmp_path / "p", write_world(tmp_path / "files"), encoder)
    changes = (("changes = []", 'changes = ["train.max_epochs=1"]'), ("folds = 5", "folds = 2"))
    project = change(tmp_path / "p", *changes, ("precision = 0.8", "precision = 0.1"))
    assert list(run(project)) == [name for name in STAGES if name != "vectors"]
    assert load(project.run).variant == "Transformers+OR+C+F"
    assert set(run(project).values()) == {"unchanged"}
    assert not project.words.exists()


def test_without_types_a_model_reads_names(tmp_path: Path) -> None:
    inputs = write_world(tmp_path / "files")
    new_project(tmp_path / "p", BuildInputs(documents=inputs.documents, kb=inputs.kb, names=inputs.names))
    small = json.dumps(SMALL)
    project = change(tmp_path / "p", ("changes = []", f"changes = {small}"), ("folds = 5", "folds = 2"))
    run(project)
    assert load(project.run).variant == "CNNs+OR+C"


def test_a_changed_setting_runs_only_what_depends_on_it(copied: Project) -> None:
    changed = change(copied.folder, ("precision = 0.1", "precision = 0.2"))
    plan = {each.stage: (each.status, each.reason) for each in plan_project(changed)}
    assert plan["train"] == ("unchanged", "nothing has changed")
    assert plan["extract"] == ("would run", "extract.precision is 0.2, was 0.1")
    assert run(changed) == dict.fromkeys(STAGES, "unchanged") | {"extract": "extract.precision is 0.2, was 0.1"}


def test_new_documents_are_added_and_only_they_are_built(copied: Project) -> None:
    documents = copied.build_inputs.documents
    documents.write_text(documents.read_text() + json.dumps({"id": "new", "text": "Ada Holt1 saw Port Town2."}) + "\n")
    plan = [(each.stage, each.status) for each in plan_project(copied)]
    assert plan[:3] == [("build", "would run"), ("check", "would run if its inputs change"), ("vectors", "would run")]
    (first,) = (each for each in run_project(copied, quiet) if each.stage == "build")
    assert first.reason == "documents changed"
    assert first.result["documents"]["num_already_there"] == NUM
    assert first.result["documents"]["num_new"] == 1


def test_with_a_kept_model_new_documents_are_only_extracted(copied: Project) -> None:
    copied = change(copied.folder, ("precision = 0.1", "precision = 0.2"))
    assert run(copied)["extract"] == "extract.precision is 0.2, was 0.1"
    documents = copied.build_inputs.documents
    documents.write_text(documents.read_text() + json.dumps({"id": "new", "text": "Ada Holt1 saw Port Town2."}) + "\n")
    results = {each.stage: each for each in run_project(copied, quiet, keep_model=True)}
    assert {name: each.status for name, each in results.items()} == {
        **dict.fromkeys(("build", "check", "extract"), "done"),
        **dict.fromkeys(("vectors", "prepare", "train"), "kept"),
    }
    assert results["extract"].result.extraction.manifest["num_predicted"] == 2, "both directions of the new pair"


def test_a_removed_or_changed_document_starts_the_corpus_over(copied: Project) -> None:
    documents = copied.build_inputs.documents
    lines = documents.read_text().splitlines(keepends=True)
    documents.write_text("".join(lines[:-1]))
    (first, *_) = run_project(copied, quiet)
    assert first.result["documents"]["num_new"] == first.result["counts"]["documents"] == NUM - 1


def test_documents_that_change_nothing_leave_the_rest_alone(copied: Project) -> None:
    documents = copied.build_inputs.documents
    documents.write_text(documents.read_text() + "\n")  # an empty line
    assert run(copied) == dict.fromkeys(STAGES, "unchanged") | {
        "build": "documents changed",
        "vectors": "documents changed",
    }


def test_decisions_of_the_database_change_the_labels_and_the_model(copied: Project) -> None:
    facts = list(read_extracted(copied.facts))
    assert facts
    decided = {
        each.triple: FactDecision(each.triple, "rejected" if each.status == "known" else "accepted") for each in facts
    }
    with writing_to(copied.database) as connection:
        assert decide_on_extracted(connection, iter(facts), decided, "Ada") == len(facts)
    done = run(open_project(copied.folder))
    assert done["prepare"] == "decisions added"
    assert done["train"] == "store changed"
    assert done["build"] == done["vectors"] == "unchanged"
    assert len((copied.folder / DECISIONS).read_text().splitlines()) == len(facts)
    overruled = Store(copied.store).manifest["overruled"]
    assert overruled["num_accepted"] + overruled["num_rejected"] == len(facts)
    assert overruled["num_sentences_changed"] > 0
    assert set(run(open_project(copied.folder)).values()) == {"unchanged"}


def test_a_file_of_decisions_counts_too(copied: Project) -> None:
    fact = Triple("l0", "capital", "t1")
    line = {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id, "decision": "rejected"}
    (copied.folder / "decided.jsonl").write_text(json.dumps(line))
    changed = change(copied.folder, ('["annotations.db"]', '["annotations.db", "decided.jsonl"]'))
    assert next(each for each in run_project(changed, quiet) if each.stage == "prepare").reason == "decisions added"


def test_a_missing_result_is_made_again(copied: Project) -> None:
    copied.words.unlink()
    done = run(copied)
    assert done["vectors"] == "its result is missing or has changed"
    assert done["train"] == "unchanged", "the same seed gives the same vectors"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_was_killed_runs_again_and_gives_the_same(copied: Project, stage: str) -> None:
    before = read_stages(copied.folder)

    class Killed(BaseException):
        pass

    @contextmanager
    def killed(name: str, number: int, num: int, reason: str) -> Iterator[StageProgress]:
        def stop(*_: object, **__: object) -> None:
            raise Killed

        yield StageProgress(on_progress=stop) if name == stage else StageProgress()
        if name == stage:
            raise Killed

    records = json.loads((copied.folder / RECORDS).read_text())
    records.pop("checksum")
    (copied.folder / RECORDS).write_text(json.dumps({name: each for name, each in records.items() if name != stage}))
    with pytest.raises(Killed):
        list(run_project(copied, killed))
    assert read_stages(copied.folder)[stage].output == ""
    done = run(copied)
    assert done[stage] == "was interrupted"
    after = read_stages(copied.folder)
    assert {name: each.inputs for name, each in after.items()} == {name: each.inputs for name, each in before.items()}


def test_damaged_records_mean_that_every_stage_runs_again(copied: Project) -> None:
    (copied.folder / RECORDS).write_text("{")
    assert run(copied) == dict.fromkeys(STAGES, "first time")
