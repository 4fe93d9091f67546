"""What every reader of user files promises: what it accepts, and what it refuses in one line."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sayso.input_file
from sayso.annotate.marks import read_any, read_comments
from sayso.cli import app
from sayso.config import read_table
from sayso.documents.build import DocumentTally
from sayso.documents.document import read_documents
from sayso.documents.gazetteer import read_stop_names
from sayso.documents.knowledge import read_names
from sayso.documents.settings import BuildSettings
from sayso.embeddings.graph import read_pairs
from sayso.embeddings.pretrained import read_entity_vectors
from sayso.embeddings.word2vec import read_word_vectors
from sayso.errors import UserError
from sayso.facts.export import read_ids
from sayso.facts.file import read_extracted
from sayso.readers.file_piece import corpus_files
from sayso.readers.mark import read_marks
from sayso.readers.read import Tally, read_sentences
from sayso.readers.tables import read_decisions, read_entity_types, read_inventory, read_triples


class Input(NamedTuple):
    """A kind of input: what reads it, a file of it, and what a blank file is said not to contain."""

    read: Callable[[Path], Any]
    sample: str
    what: str
    may_be_pipe: bool = True


def sentences(path: Path) -> list[Any]:
    tally = Tally(path)
    return [*read_sentences(path, tally), *tally.shown]


def documents(path: Path) -> list[Any]:
    intake = DocumentTally()
    taken = list(intake.new_ones(read_documents(path, BuildSettings(), lambda _: None), {}))
    intake.refuse_too_many_left_out(path, 0.0)
    return [document._replace(id="") for document in taken]


def vectors(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def plain(path: Path) -> Any:
        found = read(path)
        words, matrix = found if isinstance(found, tuple) else (found.words, found.matrix)
        return words, matrix.tolist()

    return plain


NRE = "m.1\tm.2\tana\trome\t/born\tana was born in rome .\t###END###\n"
MARK = {"head": "m.1", "tail": "m.2", "relation": "/born", "sentence": "ana was born in rome .", "label": "rationale"}
DECISION = {"head": "m.1", "relation": "/born", "tail": "m.2", "decision": "accepted"}
REMARK = {"head": "m.1", "relation": "/born", "tail": "m.2", "by": "Ann", "is_wrong": True, "comment": "no"}

INPUTS = {
    "sentences": Input(sentences, NRE * 2, "sentences"),
    "relations": Input(read_inventory, "2\nNA 0\n/born 1\n", "relations"),
    "types": Input(read_entity_types, "m.1\t/person\nm.2\t/city\n", "types"),
    "marks": Input(lambda path: list(read_marks(path)), json.dumps(MARK) + "\n", "marks"),
    "decisions": Input(lambda path: list(read_decisions(path)), json.dumps(DECISION) + "\n", "decisions"),
    "facts": Input(lambda path: list(read_triples(path)), "m.1\t/born\tm.2\n", "facts"),
    "names": Input(read_names, "m.1\tAna\nm.2\tRome\n", "names"),
    "stop names": Input(read_stop_names, "may\n", "names"),
    "documents": Input(documents, '{"id": "a", "text": "Ana left."}\n', "documents"),
    "text": Input(documents, "Ana left Rome.\n", "documents"),
    "ids": Input(read_ids, "m.1\tQ1\n", "ids"),
    "word vectors": Input(vectors(read_word_vectors), "ana 1 2\nrome 3 4\n", "vectors"),
    "entity vectors": Input(vectors(read_entity_vectors), "2 2\nm.1 1 2\nm.2 3 4\n", "vectors", may_be_pipe=False),
    "pairs": Input(lambda path: read_pairs([path], 0.0), "m.1\tm.2\n", "sentences", may_be_pipe=False),
    "corpus to extract from": Input(lambda path: len(corpus_files(path)), NRE, "sentences", may_be_pipe=False),
    "annotations": Input(read_any, json.dumps(MARK) + "\n", "marks", may_be_pipe=False),
    "comments": Input(lambda path: list(read_comments(path)), json.dumps(REMARK) + "\n", "comments"),
    "extracted facts": Input(lambda path: list(read_extracted(path)), "", "facts"),
    "settings": Input(read_table, "seed = 1\n", ""),
}
READABLE = {name: each for name, each in INPUTS.items() if each.sample}


def refusal(name: str, path: Path) -> str:
    with pytest.raises(UserError) as raised:
        INPUTS[name].read(path)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "blank",
    [b"", b"\n \r\n", b"\xef\xbb\xbf", gzip.compress(b"\n", mtime=0)],
    ids=["empty", "blank lines", "byte order mark", "gzip"],
)
@pytest.mark.parametrize("name", [name for name, each in INPUTS.items() if each.what])
def test_a_file_without_a_record_is_refused_in_one_manner(tmp_path: Path, name: str, blank: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(blank)
    assert refusal(name, path) == f"{path}: contains no {INPUTS[name].what}"


@pytest.mark.parametrize("name", READABLE)
def test_a_byte_order_mark_makes_no_difference(tmp_path: Path, name: str) -> None:
    read, sample, *_ = READABLE[name]
    path = tmp_path / "file"
    path.write_text(sample, encoding="utf-8")
    plain = read(path)
    path.write_text(sample, encoding="utf-8-sig")
    assert read(path) == plain
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read(path) == plain


@pytest.mark.parametrize("name", READABLE)
def test_a_pipe_gives_what_the_file_gives_or_is_refused(tmp_path: Path, name: str) -> None:
    read, sample, _, may_be_pipe = READABLE[name]
    path = tmp_path / "file"
    path.write_text(sample)
    receiver, sender = os.pipe()
    pipe = Path(f"/dev/fd/{receiver}")

    def send() -> None:
        for byte in path.read_bytes():
            os.write(sender, bytes([byte]))
        os.close(sender)

    writer = Thread(target=send)
    writer.start()
    try:
        if may_be_pipe:
            assert read(pipe) == read(path)
        else:
            assert "choose a file, not standard input or a pipe" in refusal(name, pipe)
    finally:
        writer.join()
        os.close(receiver)


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_neither_file_nor_pipe_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "pipe" in refusal(name, tmp_path / "pipe")
    assert "this is a device or a socket, not a file" in refusal(name, Path("/dev/zero"))
    assert refusal(name, tmp_path / "loop").startswith(f"{tmp_path / 'loop'}: ")
    assert refusal(name, tmp_path / "absent").startswith(f"{tmp_path / 'absent'}: no such file")


@pytest.mark.parametrize("name", READABLE)
@given(data=st.data())
def test_damaged_gzip_is_one_line(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "file"
    whole = gzip.compress(READABLE[name].sample.encode(), mtime=0)
    end = data.draw(st.integers(2, len(whole) - 1))
    path.write_bytes(data.draw(st.sampled_from([whole[:end], whole + b"garbage", whole[:end] + b"\xff" * 9])))
    assert "the gzip file is truncated or damaged" in refusal(name, path)


@pytest.mark.parametrize("name", ["relations", "types", "stop names", "settings"])
def test_what_is_read_whole_is_bounded_where_it_is_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sayso.input_file, "MAX_UNPACKED_BYTES", 2**20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\n" * (2**20 + 1)))
    assert "this gzip file or pipe contains more than 1 MiB" in refusal(name, path)


COMMANDS: dict[str, tuple[str, dict[str, str]]] = {
    "check": ("check FILE --relations RELATIONS --types TYPES", {"FILE": NRE}),
    "prepare": (
        "prepare --train TRAIN --test TEST --relations RELATIONS --types TYPES --direct DIRECT --vectors VECTORS"
        " --entity-vectors VECTORS2 --marks MARKS --decisions DECISIONS --rest REST --out OUT --validation 0",
        {
            "TRAIN": NRE,
            "TEST": NRE.replace("m.1", "m.3"),
            "DIRECT": NRE.replace("m.1", "m.4"),
            "VECTORS": "ana 1 2\nrome 3 4\n",
            "VECTORS2": "m.1 1 2\n",
            "MARKS": INPUTS["marks"].sample,
            "DECISIONS": INPUTS["decisions"].sample,
            "REST": NRE,
        },
    ),
    "build": (
        "build --documents DOCUMENTS --kb KB --names NAMES --types TYPES --relations RELATIONS --stop-names STOP"
        " --out OUT",
        {
            "DOCUMENTS": '{"id": "a", "text": "Ana left Rome."}\n',
            "KB": INPUTS["facts"].sample,
            "NAMES": INPUTS["names"].sample,
            "STOP": "may\n",
        },
    ),
    "entities": (
        "entities train TRIPLES --exclude PAIRS --out OUT --epochs 1 --width 2 --device cpu",
        {"TRIPLES": "".join(f"m.{n}\t/born\tm.{n + 1}\n" for n in range(99)), "PAIRS": "x\ty\n"},
    ),
    "annotations": ("annotations import MARKS --db OUT", {"MARKS": INPUTS["marks"].sample}),
}
SHARED = {"RELATIONS": INPUTS["relations"].sample, "TYPES": INPUTS["types"].sample}


def run(folder: Path, command: str, blank: str = "") -> BaseException | None:
    """Return how the command ends with good files, one of them blank."""
    words, files = COMMANDS[command]
    for name, content in (SHARED | files).items():
        (folder / name).write_text("\n" if name == blank else content)
    arguments = [str(folder / word) if word.isupper() or word[:-1].isupper() else word for word in words.split()]
    return CliRunner().invoke(app, arguments).exception


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_files_are_good(tmp_path: Path, command: str) -> None:
    assert run(tmp_path, command) is None


@pytest.mark.parametrize(
    ("command", "blank"),
    [(command, name) for command, (words, files) in COMMANDS.items() for name in SHARED | files if f" {name}" in words],
)
def test_no_command_takes_a_blank_file(tmp_path: Path, command: str, blank: str) -> None:
    error = run(tmp_path, command, blank)
    assert isinstance(error, UserError)
    assert str(error).startswith(f"{tmp_path / blank}: contains no ")
    assert not (tmp_path / "OUT").exists() or command in ("build", "annotations")
