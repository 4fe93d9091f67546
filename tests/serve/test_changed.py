"""A running workbench reports files that are truncated or replaced, and keeps working."""

import os
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from running import serving
from sayso.store.store import Store
from toy_extraction import write_found
from toy_predictions import make_run_folder
from toy_workbench import Person, make_settings, open_client

PAGES = ("/annotate", "/predictions/run", "/predictions/run/fact?bag=0&relation=capital", "/api/predictions/run", "/")


@pytest.fixture
def client(tmp_path: Path):
    with open_client(make_settings(tmp_path, facts=(write_found(tmp_path / "facts"),))) as client:
        Person(client, "Ada")
        yield client


def cut(folder: Path) -> None:
    for path in folder.glob("*.arrow"):
        os.truncate(path, 100)


def test_pages_of_files_that_were_cut_short_say_so_and_the_server_lives(client, tmp_path: Path) -> None:
    person = Person(client, "Bo")
    assert client.get("/annotate").status_code == 200
    cut(tmp_path / "store")
    cut(tmp_path / "run" / "predictions")
    for page in PAGES:
        answer = client.get(page)
        assert answer.status_code == 409, page
        assert "the file has changed since it was opened; restart the workbench" in answer.text
    assert client.get("/sign-in").status_code == 200
    person.mark(0, "capital", "rationale")  # a page that is already open can still save


def evaluate_again(folder: Path, part: str = "test") -> None:
    """Replace the run's predictions, as `sayso evaluate` does."""
    again = make_run_folder(folder / "again", Store(folder / "store"), seed=1, part=part)
    shutil.rmtree(folder / "run" / "predictions", ignore_errors=True)
    (again / "predictions").rename(folder / "run" / "predictions")
    shutil.rmtree(again)


def test_replaced_predictions_are_shown_and_annotation_continues(client, tmp_path: Path) -> None:
    asked = "/api/predictions/run/fact?bag=1&relation=capital"
    before = {page: client.get(page).json() for page in ("/api/predictions/run", asked)}
    evaluate_again(tmp_path)
    for page in (
        *PAGES,
        "/agreement",
        "/try",
        "/decisions",
        "/api/agreement",
        "/annotate/fact?bag=0&relation=capital",
    ):
        assert client.get(page).status_code == 200, page
    for page, answer in before.items():
        assert client.get(page).json() != answer, page


def test_predictions_that_a_killed_evaluation_had_moved_aside_are_shown(client, tmp_path: Path) -> None:
    (folder,) = tmp_path.glob("**/predictions")
    before = client.get("/api/facts/run").json()
    folder.rename(folder.with_name(".predictions.0123abcd.replaced"))
    assert client.get("/api/facts/run").json() == before


def test_predictions_that_cannot_be_shown_affect_only_the_pages_of_their_run(client, tmp_path: Path) -> None:
    person = Person(client, "Bo")
    person.mark(1, "capital", "rationale", "irrelevant", "irrelevant")
    person.submit(1, "capital")
    fact = "/annotate/fact?bag=1&relation=capital"
    assert "scores are shown below the sentences" in person.page(fact)
    evaluate_again(tmp_path, part="validation")
    for page in ("/predictions/run", "/api/predictions/run"):
        answer = client.get(page)
        assert answer.status_code == 409
        assert "predictions are for the validation part, not test" in answer.text
    assert "scores are shown below the sentences" not in person.page(fact)
    for page in ("/annotate", "/agreement", "/try", "/decisions", "/review/facts"):
        person.page(page)
    evaluate_again(tmp_path)
    assert "scores are shown below the sentences" in person.page(fact)
    person.page("/predictions/run")


def test_a_run_whose_predictions_were_removed_affects_only_its_own_pages(client, tmp_path: Path) -> None:
    assert client.get("/predictions/run").status_code == 200
    shutil.rmtree(tmp_path / "run" / "predictions")
    assert client.get("/predictions/run").status_code == 409
    assert client.get("/annotate").status_code == 200
    evaluate_again(tmp_path)
    assert client.get("/predictions/run").status_code == 200


@pytest.mark.parametrize("damage", [cut, lambda folder: (folder / "evidence.arrow").unlink()])
def test_damaged_predictions_in_place_of_good_ones_do_not_stop_annotating(client, tmp_path: Path, damage) -> None:
    evaluate_again(tmp_path)
    damage(tmp_path / "run" / "predictions")
    assert client.get("/predictions/run").status_code == 409
    assert client.get("/annotate").status_code == 200


def test_a_store_that_was_replaced_by_the_same_one_is_shown(client, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    shutil.rmtree(tmp_path / "store")
    assert client.get("/annotate").status_code == 409
    (tmp_path / "copy").rename(tmp_path / "store")
    assert client.get("/annotate").status_code == 200


def test_facts_that_were_written_again_are_not_mixed_with_those_that_were_read(client, tmp_path: Path) -> None:
    fact = client.get("/api/review/facts").json()["rows"][0]
    ids = {"head": fact["head_id"], "relation": fact["relation"], "tail": fact["tail_id"]}
    assert client.get("/review/facts/fact", params=ids).status_code == 200
    os.truncate(tmp_path / "facts" / "facts.jsonl", 100)
    answer = client.get("/review/facts/fact", params=ids)
    assert answer.status_code == 409
    assert "facts.jsonl: the file has changed since it was read; restart the workbench" in answer.text
    assert client.get("/annotate").status_code == 200


@pytest.mark.slow
def test_a_running_server_survives(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    with serving(settings.data, tmp_path / "live.db", "--run", settings.runs[0], "--port", 0) as running:
        assert urllib.request.urlopen(f"{running.url}/predictions/run").status == 200
        cut(settings.data)
        cut(settings.runs[0] / "predictions")
        for page in PAGES[:3]:
            with pytest.raises(urllib.error.HTTPError, match="409"):
                urllib.request.urlopen(f"{running.url}{page}")
        assert running.process.poll() is None
