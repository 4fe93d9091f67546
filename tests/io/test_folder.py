"""Folders are written by one command at a time; a folder of the wrong kind gives an error that says what to do."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
from sayso.io.folder import OutputFolder, kind_of, locked, wrong_folder
from sayso.model.checkpoint import find_model
from sayso.readers.files import files_of
from sayso.store.store import Store
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config


def folder(path: Path, made_by: str = "sayso x") -> OutputFolder:
    return OutputFolder(path=path, made_by=made_by, resume_option="--resume")


def test_a_manifest_belongs_to_the_command_that_wrote_it(tmp_path: Path) -> None:
    folder(tmp_path).write({"is_finished": True})
    assert folder(tmp_path).read() == {"made_by": "sayso x", "is_finished": True}
    assert folder(tmp_path, "sayso y").read() == {}
    with pytest.raises(UserError, match="the folder was not written by `sayso y`"):
        folder(tmp_path, "sayso y").refuse_occupied()


@pytest.mark.parametrize(("is_finished", "state"), [(True, "has finished"), (False, "was interrupted")])
def test_what_is_there_is_said(tmp_path: Path, is_finished: bool, state: str) -> None:
    folder(tmp_path).write({"is_finished": is_finished})
    (tmp_path / "work").touch()
    with pytest.raises(UserError, match=f"`sayso x` {state} in this folder: continue with --resume"):
        folder(tmp_path).refuse_occupied()
    folder(tmp_path).refuse_foreign()


def test_a_folder_is_free_again_where_its_input_was_refused_or_nothing_was_done(tmp_path: Path) -> None:
    place = OutputFolder(
        path=tmp_path, made_by="sayso x", resume_option="--resume", done="done/*", contents=("done", "x")
    )
    place.write({"is_finished": False})
    place.refuse_occupied()
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "1").touch()
    with pytest.raises(UserError, match="was interrupted"):
        place.refuse_occupied()
    with pytest.raises(UserError, match="bad line"), place.refusable(kept="done/*"):
        raise UserError("bad line")
    with pytest.raises(UserError, match="was interrupted"):
        place.refuse_occupied()
    with pytest.raises(UserError, match="bad line"), place.refusable():
        raise UserError("bad line")
    place.refuse_occupied()
    assert (tmp_path / "done" / "1").exists()
    (tmp_path / "done" / "1").unlink()
    (tmp_path / "x").touch()
    (tmp_path / "mine").touch()
    with pytest.raises(UserError, match="bad line"), place.refusable():
        raise UserError("bad line")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"], "no step was done, so nothing of ours is left"


def test_only_one_at_a_time_may_write_and_the_other_is_named(tmp_path: Path) -> None:
    place = folder(tmp_path / "new" / "deep")
    refusal = rf"`sayso x` is running in this folder \(process {os.getpid()}\); wait for it, or choose another folder"
    with place.locked(), pytest.raises(UserError, match=refusal), locked(tmp_path / "new" / "deep", "sayso y"):
        pass
    with place.locked():
        place.write({})
    place.refuse_foreign()


def test_a_claim_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        with locked(tmp_path / name, "sayso x"):
            pass
    with locked(tmp_path / "filled", "sayso x"):
        (tmp_path / "filled" / "data").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "filled"]
    assert [path.name for path in (tmp_path / "filled").iterdir()] == ["data"]


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys; from sayso.io.folder import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 'sayso x'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    with locked(tmp_path, "sayso x"):
        pass


def test_a_lock_that_its_owner_removed_meanwhile_is_not_believed(tmp_path: Path, monkeypatch) -> None:
    with ExitStack() as owner, claimed_later(monkeypatch, owner.close), ExitStack() as next_one:
        owner.enter_context(locked(tmp_path / "out", "sayso x"))
        next_one.enter_context(locked(tmp_path / "out", "sayso y"))
        with pytest.raises(UserError, match="`sayso y` is running"), locked(tmp_path / "out", "sayso z"):
            pass


@contextmanager
def claimed_later(monkeypatch, before_second_lock: Callable[[], None]) -> Iterator[None]:
    """Call something after the second lock file was opened and before it is locked."""
    calls, lock = [], fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            before_second_lock()
        lock(descriptor, how)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", flock)
        yield


def test_a_file_or_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="a file with this name exists"):
        folder(tmp_path / "file").refuse_occupied()
    with pytest.raises(UserError, match="choose another folder"), folder(tmp_path / "file" / "below").locked():
        pass


@pytest.mark.parametrize("text", ["", "[]", '{"made_by": "somebody", "x": NaN}', "\x00"])
def test_a_foreign_manifest_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert folder(tmp_path).read() == {}


@pytest.mark.parametrize(("old", "new"), [("16", "15"), ("sayso x", "sayso w"), ("made_by", "made_bx"), ("}", "")])
def test_a_manifest_that_was_changed_or_cut_short_is_refused(tmp_path: Path, old: str, new: str) -> None:
    folder(tmp_path).write({"num_shards": 16})
    text = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace(old, new))
    with pytest.raises(
        UserError, match=r"not written by `sayso x`, or damaged .*: remove the folder, or choose another"
    ):
        folder(tmp_path).read()


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
        f" --train {corpus} --out STORE`"
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
    assert f"`sayso prepare --train '{folder}' --out STORE`" in str(wrong_folder(folder, "store"))
