"""Folders as commands leave them are told apart; where another kind is needed, the line says what to do."""

import json
from pathlib import Path

import pytest

from extract.toy_corpus import EVERYTHING as EXTRACT
from sayso.documents.build import build
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.errors import BadInputError, UserError
from sayso.extract.folder import extraction_folder, refuse_other_since
from sayso.extract.run import extract
from sayso.extract.settings import ExtractInputs
from sayso.facts.file import facts_file
from sayso.invent.raw import invent_raw
from sayso.invent.settings import InventSettings
from sayso.invent.write import invent
from sayso.io.folder_kind import kind_of, wrong_folder
from sayso.model.checkpoint import find_model
from sayso.readers.files import files_of
from sayso.store.store import Store
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder of each kind."""
    top = tmp_path_factory.mktemp("kinds")
    raw = top / "raw"
    invent_raw(raw, InventSettings(train_sentences=60, test_sentences=30, documents=5))
    invent(top / "invented", InventSettings(train_sentences=60, test_sentences=30, direct_sentences=5, documents=2))
    inputs = BuildInputs(documents=raw / "documents.jsonl", kb=raw / "kb.tsv", names=raw / "names.tsv")
    build(inputs, BuildSettings(), top / "corpus", lambda *_: None)
    store = make_marked_store(top)
    run = make_run(toy_config("type"), store, top / "run")
    extract(ExtractInputs(run=run, corpus=top / "train.txt"), EXTRACT, top / "extraction")
    for name, marks in {"seeds": ("seed-13",), "reproduction": ("runs", "outcomes")}.items():
        for mark in marks:
            (top / name / mark).mkdir(parents=True)
    (top / "seeds" / "seed-13" / "run.json").write_text("{}")
    (top / "predictions").mkdir()
    (top / "predictions" / "manifest.json").write_text(json.dumps({"format": 1, "mechanisms": []}))
    kinds = ("raw", "invented", "corpus", "store", "run", "extraction", "seeds", "reproduction", "predictions")
    return {kind: top / kind for kind in kinds} | {"model": run / "model"}


def test_every_kind_is_told_from_its_files(folders: dict[str, Path]) -> None:
    assert {kind_of(folder): folder for folder in folders.values()} == folders


def test_anything_else_is_none_of_them(tmp_path: Path) -> None:
    assert kind_of(tmp_path) is None
    assert kind_of(tmp_path / "missing") is None
    for text in ("", "[]", "[" * 9_999, '{"made_by": 3}', '{"made_by": "cake"}'):
        (tmp_path / "manifest.json").write_text(text)
        assert kind_of(tmp_path) is None


NEEDS = {
    "store": (Store, {"store"}),
    "run": (find_model, {"run", "model"}),
    "an earlier extraction": (lambda path: refuse_other_since(extraction_folder(path), {}), {"extraction"}),
    "facts": (facts_file, {"extraction"}),
    "sentences": (files_of, {"corpus"}),
}


@pytest.mark.parametrize("need", NEEDS)
def test_the_wrong_kind_of_folder_is_said_with_what_to_do(folders: dict[str, Path], need: str) -> None:
    opened, fitting = NEEDS[need]
    for kind, folder in folders.items():
        if kind not in fitting:
            with pytest.raises(UserError) as refusal:
                opened(folder)
            assert str(refusal.value).startswith(f"{folder}: "), kind


def test_a_built_corpus_in_place_of_a_store_names_the_command_that_makes_one_of_it(folders: dict[str, Path]) -> None:
    corpus = folders["corpus"]
    with pytest.raises(BadInputError) as refusal:
        Store(corpus)
    assert str(refusal.value) == (
        f"{corpus}: this is a corpus written by `sayso build`, not a store: make a store from it with `sayso prepare"
        f" --train {corpus}/train --relations {corpus}/relations.jsonl --types {corpus}/types.json --out STORE`"
    )


@pytest.mark.parametrize(
    ("wanted", "kind", "advice"),
    [
        ("store", "run", "this is a run, not a store: choose the store that it was trained on"),
        ("run", "store", "this is a store, not a run or a model: train one on it with `sayso train CONFIG --data"),
        (
            "run",
            "extraction",
            "`sayso extract`, not a run or a model: choose the run that extracted them",
        ),
        ("sentences", "invented", "not a file or folder of sentences: choose one of its files, such as"),
    ],
)
def test_the_advice_fits_what_is_there(folders: dict[str, Path], wanted, kind: str, advice: str) -> None:
    assert advice in str(wrong_folder(folders[kind], wanted))


def test_a_folder_that_is_missing_or_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="file: this is a file, not a store: make one with `sayso prepare`"):
        Store(tmp_path / "file")
    with pytest.raises(BadInputError, match="missing: no such folder: make one with `sayso train`"):
        find_model(tmp_path / "missing")


def test_a_command_in_the_line_can_be_pasted_where_the_folder_has_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "my corpus"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"made_by": "sayso build"}')
    assert f"`sayso prepare --train '{folder}/train' --relations '{folder}/" in str(wrong_folder(folder, "store"))
