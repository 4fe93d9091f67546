"""`sayso build` as users call it: in its own process, killed, interrupted, on unusual files."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import sayso, sayso_process

WORDS = ("kb", "names", "types")


@pytest.fixture
def tables(tmp_path: Path) -> list[object]:
    """The options for the tables of a small invented world."""
    (tmp_path / "kb").write_text("ana\t/born\trome\nana\t/born\tana\nana\t/born\tnobody\n")
    (tmp_path / "names").write_text("ana\tAna Diaz\tAna\trome\tA\nrome\tRome\nbo\tBo\tRome\n")
    (tmp_path / "types").write_text("ana\t/person\nrome\t/city\n")
    return [word for name in WORDS for word in (f"--{name}", tmp_path / name)]


def articles(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("Ana Diaz met Bo. Ana left Bo.")
    (folder / "b.html").write_bytes("<p>Ana &amp; Bo in Zürich.</p>".encode("cp1252"))
    (folder / "empty.txt").write_text("")
    return folder


def test_a_corpus_is_built_counted_and_ready_for_check_and_prepare(tmp_path: Path, tables: list[object]) -> None:
    out = tmp_path / "out"
    result = sayso("build", "--documents", articles(tmp_path / "docs"), *tables, "--out", out, "--na", 1)
    assert result.returncode == 0, result.stderr
    assert "sentences with pairs" in result.stdout
    for line in (
        "documents: 2 new, 0 already built",
        "documents left out: 1: empty",
        "names skipped: 1 (single letters)",
        "facts between an entity and itself, left out: 1 (first: ana /born ana)",
        "facts with an entity that has no name: 1 (first: ana /born nobody)",
    ):
        assert line in result.stderr
    assert result.stderr.splitlines()[-3:] == [
        f"next: sayso check {out}",
        f"next: sayso vectors train {out} --out words.bin",
        f"next: sayso prepare --train {out} --vectors words.bin --out store",
    ]
    tables = ("--relations", out / "relations.jsonl", "--types", out / "types.json")
    by_folder, by_file = (
        json.loads(sayso("check", *words, "--json").stdout) for words in ((out,), (out / "train", *tables))
    )
    assert by_folder == by_file
    assert (by_folder["sentences"], by_folder["relations"], by_folder["untyped_entities"]) == (6, 0, 1)
    stores = []
    for words in ((out,), (out / "train", *tables)):
        stores.append(tmp_path / f"store {len(stores)}")
        assert sayso("prepare", "--train", *words, "--out", stores[-1], "--validation", 0).returncode == 0
    first, second = (json.loads((store / "manifest.json").read_text()) for store in stores)
    assert first["inputs"] == second["inputs"], "the folder stands for its sentences and tables"
    assert first["inputs"]["train"]["sha256"] != "not a plain file"


def test_without_a_names_file_the_ids_are_the_names(tmp_path: Path) -> None:
    (tmp_path / "kb").write_text("Ana_Diaz\t/born\tRome\n")
    (tmp_path / "types").write_text("Ana_Diaz\t/person\nBo\t/person\n")
    (tmp_path / "docs.txt").write_text("Ana Diaz was born in Rome. Ana Diaz met Bo.")
    words = ("build", "--documents", tmp_path / "docs.txt", "--kb", tmp_path / "kb", "--out", tmp_path / "out")
    result = sayso(*words, "--types", tmp_path / "types")
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for path in tmp_path.glob("out/*/0*.jsonl") for line in path.read_text().splitlines()]
    assert {line["head"]["id"] for line in lines} == {"Ana_Diaz", "Rome", "Bo"}
    assert {line["head"]["name"] for line in lines} == {"Ana Diaz", "Rome", "Bo"}
    assert "names: 3 for 3 entities, 0 ambiguous" in result.stderr
    names = tmp_path / "names"
    names.write_text("Rome\tRome\n")
    changed = sayso(*words, "--types", tmp_path / "types", "--names", names, "--append")
    assert "--names has changed since this corpus was built" in changed.stderr
    assert "--types has changed since this corpus was built" in sayso(*words, "--append").stderr
    (tmp_path / "kb").write_text("Q1\t/born\tQ2\n")
    refused = sayso(*words, "--overwrite")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "kb: 2 of 2 entity ids, such as 'Q1', are not names: give the names of the entities with --names" in (
        refused.stderr
    )


SCRIPTS = {
    "Greek": ("Ἄννα", "Σμύρνη", "Η Ἄννα γεννήθηκε στη Σμύρνη."),
    "Russian": ("Анна", "Москва", "Анна родилась в городе Москва."),
    "Arabic": ("آنا", "القاهرة", "ولدت آنا في القاهرة ."),
    "Chinese": ("安娜", "北京", "安娜出生于北京。"),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_names_in_another_script_are_found_where_words_are_separated(tmp_path: Path, script: str) -> None:
    head, tail, text = SCRIPTS[script]
    (tmp_path / "kb").write_text(f"{head}\t/born\t{tail}\n")
    (tmp_path / "docs.txt").write_text(text)
    words = ("--documents", tmp_path / "docs.txt", "--kb", tmp_path / "kb", "--out", tmp_path / "out")
    result = sayso("build", *words, "--json")
    assert result.returncode == 0, result.stderr
    num_lines = json.loads(result.stdout)["counts"]["lines with a relation"]
    assert (num_lines == 0) == (script == "Chinese")
    told = sayso("build", *words, "--overwrite").stderr
    assert ("names in a script without spaces between words: 2, " in told) == (script == "Chinese")


def test_a_document_twice_a_huge_one_and_an_endless_sentence_are_counted_and_named(
    tmp_path: Path, tables: list[object]
) -> None:
    docs = articles(tmp_path / "docs")
    (docs / "huge.txt").write_bytes(b"Ana Diaz met Bo. " * (50 * 2**20 // 17))
    (docs / "endless.txt").write_text("Ana Diaz met Bo and " * 20_000)
    result = sayso("build", "--documents", docs, *tables, "--out", tmp_path / "out", "--max-bad", 0.5)
    assert result.returncode == 0, result.stderr
    assert "documents left out: 1: larger than max_document_mb" in result.stderr
    assert f"{docs}/huge.txt: larger than max_document_mb (32 MB)" in result.stderr
    assert "tokens (--max-tokens); most in: endless.txt (4)" in result.stderr
    lines = tmp_path / "docs.jsonl"
    lines.write_text('{"id": "a", "text": "Ana left."}\n{"id": "a", "text": "Bo left."}\n')
    result = sayso("build", "--documents", lines, *tables, "--out", tmp_path / "two")
    assert result.returncode == 0, result.stderr
    assert "documents: 1 skipped because their ids already exist with different text: a" in result.stderr


def test_facts_in_place_of_types_are_refused(tmp_path: Path, tables: list[object]) -> None:
    docs = articles(tmp_path / "docs")
    result = sayso("build", "--documents", docs, *tables[:4], "--types", tmp_path / "kb", "--out", tmp_path / "out")
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert "kb: contains facts, not types: '/born' is a relation" in result.stderr


def test_a_corpus_without_labelled_pairs_is_reported(tmp_path: Path, tables: list[object]) -> None:
    (tmp_path / "docs.txt").write_text("Bo was here.")
    result = sayso("build", "--documents", tmp_path / "docs.txt", *tables, "--out", tmp_path / "out")
    assert "nothing to learn from: no sentence names two entities that a fact links" in result.stderr


def test_json_is_the_manifest(tmp_path: Path, tables: list[object]) -> None:
    result = sayso("build", "--documents", articles(tmp_path / "docs"), *tables, "--out", tmp_path / "out", "--json")
    written = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert written.pop("checksum").startswith("crc32:")
    assert {"made_by": "sayso build", **json.loads(result.stdout)} == written
    assert written["counts"]["documents not in UTF-8"] == written["counts"]["documents with HTML"] == 1


def test_a_user_error_is_one_line_with_exit_code_2(tmp_path: Path, tables: list[object]) -> None:
    docs, out = articles(tmp_path / "docs"), tmp_path / "out"
    for words, message in (
        ((*tables, "--documents", tmp_path / "none"), "none: no such file or directory"),
        ((*tables, "--documents", docs, "--append"), "no built corpus to append to"),
        ((*tables, "--documents", docs, "--append", "--overwrite"), "use either --append (continue) or --overwrite"),
        ((*tables, "--documents", docs, "--finder", "spacy", "--spacy-model", "xx_none"), "spaCy has no such model"),
        ((*tables, "--documents", docs, "--spacy-model", "xx_none"), "--spacy-model requires --finder spacy"),
        ((*tables, "--documents", docs, "--new-entities"), "--new-entities requires --spacy-model, a model that finds"),
        ((*tables, "--documents", docs, "--only-utf8", "--max-bad", 0.1), "1 of 2 documents cannot be used"),
    ):
        result = sayso("build", *words, "--out", out)
        assert result.returncode == 2, result.stderr
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert sayso("build", "--documents", docs, *tables, "--out", out, "--append", "--only-utf8").returncode == 2
    (tmp_path / "kb").write_text("ana\tborn\tin\trome\n")
    result = sayso("build", "--documents", docs, *tables, "--out", tmp_path / "other")
    assert f"{tmp_path / 'kb'}:1: expected 3 columns (head, relation, tail), got 4" in result.stderr
    assert not (tmp_path / "other").exists()


def many(number: int) -> bytes:
    """Many articles, in shards of two thousand."""
    texts = (f"Ana Diaz met Bo on day {index} in May. It rained." for index in range(number))
    return "".join(f"{json.dumps({'id': str(index), 'text': text})}\n" for index, text in enumerate(texts)).encode()


def contents(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.glob("*/*")) if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_build_continues_and_gives_the_same_corpus(
    tmp_path: Path, tables: list[object], sent: signal.Signals
) -> None:
    words, articles, stopped = ["build", *tables, "--documents", "-"], many(5_000), tmp_path / "stopped"
    assert sayso_process(*words, "--out", tmp_path / "straight", stdin=articles).returncode == 0
    *full, _ = sorted(path.name for path in (tmp_path / "straight" / "shards").glob("0*"))
    program = [sys.executable, "-m", "sayso", *map(str, words), "--out", str(stopped)]
    process = subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"NO_COLOR": "1"},
    )
    assert process.stdin
    process.stdin.write(
        articles
    )  # and no end: when all full shards are done it waits for more, however busy the machine
    process.stdin.flush()
    while not all((stopped / "shards" / name).exists() for name in full):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(sent)
    _, err = process.communicate()
    assert process.returncode == (130 if sent == signal.SIGINT else -signal.SIGKILL)
    assert sent == signal.SIGKILL or b"continue with the same command and --append" in err
    assert len(full) > 1
    assert sorted(path.name for path in (stopped / "shards").glob("0*")) == full
    assert sayso_process(*words, "--out", stopped, stdin=articles).returncode == 2
    result = sayso_process(*words, "--out", stopped, "--append", stdin=articles)
    assert result.returncode == 0, result.stderr
    assert contents(stopped) == contents(tmp_path / "straight")


def test_unreadable_documents_are_left_out_and_reported(tmp_path: Path, tables: list[object]) -> None:
    docs = articles(tmp_path / "docs")
    os.mkfifo(docs / "pipe.txt")
    (docs / "zero.txt").symlink_to("/dev/zero")
    (docs / "loop.txt").symlink_to(docs / "loop.txt")
    (docs / "garbage.txt.gz").write_bytes(b"\x1f\x8b garbage")
    (docs / "trailing.txt.gz").write_bytes(gzip.compress(b"Ana met Bo.") + b"xyz")
    result = sayso("build", "--documents", docs, *tables, "--out", tmp_path / "out", "--na", 1, "--max-bad", 0.9)
    assert result.returncode == 0, result.stderr
    for reason in (
        "1: this is a named pipe",
        "1: this is a device",
        "1: too many levels of symbolic links",
        "2: the gzip file is truncated or damaged",
    ):
        assert f"documents left out: {reason}" in result.stderr


def test_doubtful_links_and_names_that_cannot_be_found_are_reported(tmp_path: Path, tables: list[object]) -> None:
    with (tmp_path / "names").open("a") as file:
        file.write("beijing\t北京\n")
    (tmp_path / "doc.txt").write_text("Ana Diaz University honours Bo. Bo left Rome.")
    result = sayso("build", "--documents", tmp_path / "doc.txt", *tables, "--out", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    for line in (
        "names in a script without spaces between words: 1, found only between spaces or punctuation (first: 北京)",
        "doubtful links: 1 of 4 names, dropped (--doubtful), listed in doubtful/; most frequent: part of",
    ):
        assert line in result.stderr


def test_pdf_and_huge_documents_are_one_line(tmp_path: Path, tables: list[object]) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "b.txt").write_bytes(b"a " * 2**19 + b"b")
    for name, reason in (
        ("a.pdf", "a PDF file: convert it to text first"),
        ("b.txt", "larger than max_document_mb (1 MB)"),
    ):
        command = ("build", "--documents", tmp_path / name, *tables, "--out", tmp_path / "out", "--max-document-mb", 1)
        result = sayso(*command)
        assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
        assert f"no usable documents (first: {tmp_path / name}: {reason}" in result.stderr


def test_a_damaged_gzip_file_as_documents_is_one_line(tmp_path: Path, tables: list[object]) -> None:
    path = tmp_path / "docs.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "text": "Ana met Bo."}\n' * 99)[:40])
    result = sayso("build", "--documents", path, *tables, "--out", tmp_path / "out")
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert result.stderr.startswith(f"sayso: {path}")
    assert "the gzip file is truncated or damaged" in result.stderr
