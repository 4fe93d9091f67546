import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from invent.conftest import Corpus
from sayso.errors import UserError
from sayso.invent.settings import InventSettings
from sayso.invent.write import FILES, invent
from sayso.readers.files import read_lines
from sayso.readers.mark import read_mark_lines
from sayso.readers.tables import read_entity_types, read_inventory, read_triples
from sayso.readers.tagged import read as read_tagged
from sayso.records import Mark, Sentence

SMALL = InventSettings(train_sentences=60, test_sentences=30, direct_sentences=5, documents=2)


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_all_files_are_there_and_no_others(toy: Corpus) -> None:
    assert {path.name for path in toy.folder.iterdir()} == set(FILES)


def test_the_number_of_sentences_is_exact(toy: Corpus) -> None:
    assert len(toy.lines("train.jsonl")) == toy.settings.train_sentences == toy.manifest["parts"]["train"]["sentences"]
    assert len(toy.lines("test.jsonl")) == toy.settings.test_sentences == toy.manifest["parts"]["test"]["sentences"]


def test_the_same_seed_makes_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    invent(tmp_path / "here", SMALL)
    program = (
        "import sys; from pathlib import Path; from sayso.invent.write import *\n"
        "settings = InventSettings(train_sentences=60, test_sentences=30, direct_sentences=5, documents=2)\n"
        "invent(Path(sys.argv[1]), settings)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "there")]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "77"})
    assert digest(tmp_path / "here") == digest(tmp_path / "there")


def test_another_seed_makes_another_corpus(tmp_path: Path) -> None:
    invent(tmp_path / "a", SMALL)
    invent(tmp_path / "b", InventSettings(seed=14, train_sentences=60, test_sentences=30))
    assert digest(tmp_path / "a")["train.jsonl"] != digest(tmp_path / "b")["train.jsonl"]


def test_more_documents_change_nothing_else(tmp_path: Path) -> None:
    invent(tmp_path / "a", SMALL)
    invent(tmp_path / "b", InventSettings(train_sentences=60, test_sentences=30, direct_sentences=5, documents=9))
    a, b = digest(tmp_path / "a"), digest(tmp_path / "b")
    assert {name for name in a if a[name] != b[name]} == {
        "documents.jsonl",
        "documents_mentions.jsonl",
        "manifest.json",
    }


def test_no_test_pair_is_in_training_the_graph_or_the_direct_sentences(toy: Corpus) -> None:
    def unordered(sentences: list[Sentence]) -> set[frozenset[str]]:
        return {frozenset(sentence.pair) for sentence in sentences}

    test = unordered(toy.sentences("test"))
    assert not test & unordered(toy.sentences("train"))
    assert not test & {frozenset((t.head_id, t.tail_id)) for t in read_triples(toy.folder / "triples.tsv")}
    names = {line.split("\t")[0]: line.split("\t")[1] for line in toy.lines("names.tsv")}
    named = {frozenset(names[entity] for entity in pair) for pair in test}
    direct = [item for _, item in read_tagged(read_lines(toy.folder / "direct.txt")) if isinstance(item, Sentence)]
    assert len(direct) == toy.settings.direct_sentences
    assert not named & {frozenset((sentence.head.name, sentence.tail.name)) for sentence in direct}


def test_lines_of_a_pair_agree_on_its_relations(toy: Corpus) -> None:
    for name in ("train", "test"):
        labels: dict[tuple[str, str], tuple[str, ...]] = {}
        for sentence in toy.sentences(name):
            assert labels.setdefault(sentence.pair, sentence.relations) == sentence.relations


@pytest.mark.parametrize(("part", "file"), [("test", "rationales.jsonl"), ("train", "rationales_train.jsonl")])
def test_every_sentence_and_label_of_a_positive_bag_has_a_mark(toy: Corpus, part: str, file: str) -> None:
    wanted = {(*s.pair, relation, s.text) for s in toy.sentences(part) for relation in s.relations}
    marks = [mark for _, mark in read_mark_lines(toy.folder / file) if isinstance(mark, Mark)]
    assert {mark[:4] for mark in marks} == wanted
    assert len(marks) == len(wanted)
    assert {mark.label for mark in marks} == {"rationale", "irrelevant"}
    assert {mark.annotator for mark in marks} == {"construction"}


def test_training_has_no_unseen_wording_and_test_has_the_share(toy: Corpus) -> None:
    train = [line.split("\t")[1:] for line in toy.lines("wordings_train.tsv")[1:]]
    test = [line.split("\t")[1:] for line in toy.lines("wordings.tsv")[1:]]
    assert {known for _, known in train} == {"true"}
    known_ids = {wording for wording, known in test if known == "true"}
    unseen_ids = {wording for wording, known in test if known == "false"}
    assert not unseen_ids & (known_ids | {wording for wording, _ in train})
    assert 0.2 < sum(known == "false" for _, known in test) / len(test) < 0.4


def test_shares_come_out_as_asked(toy: Corpus) -> None:
    train = toy.manifest["parts"]["train"]
    assert train["na_sentences"] / train["sentences"] == pytest.approx(0.6, abs=0.01)
    assert train["irrelevant_share"] == pytest.approx(0.4, abs=0.06)
    assert train["supported_share"] == pytest.approx(0.9, abs=0.05)
    assert train["single_sentence_share"] == pytest.approx(2 / 3, abs=0.07)
    assert 33 < train["mean_tokens"] < 42
    assert train["multi_label_bags"] > 30


def test_without_irrelevant_sentences_all_sentences_of_positive_bags_say_so(tmp_path: Path) -> None:
    manifest = invent(tmp_path / "x", InventSettings(train_sentences=300, test_sentences=50, irrelevant_share=0.0))
    assert manifest["parts"]["train"]["irrelevant_share"] == 0
    assert manifest["parts"]["train"]["supported_share"] > 0.97


def test_the_tables_are_read_by_our_readers(toy: Corpus) -> None:
    relations = read_inventory(toy.folder / "relations.tsv")
    assert {r for s in toy.sentences("train") for r in s.relations} <= {relation.name for relation in relations}
    assert all(relation.definition and relation.example for relation in relations)
    assert any(relation.is_functional for relation in relations)
    types = read_entity_types(toy.folder / "types.json")
    mentioned = {mention.entity_id for s in toy.sentences("train") for mention in (s.head, s.tail)}
    assert mentioned <= types.keys()
    assert {entity for entity, kinds in types.items() if not kinds} != set()


def test_document_mentions_point_at_names_of_their_entities(toy: Corpus) -> None:
    texts = {record["id"]: record["text"] for record in toy.records("documents.jsonl")}
    names = {line.split("\t")[0]: line.split("\t")[1:] for line in toy.lines("names.tsv")}
    mentions = toy.records("documents_mentions.jsonl")
    assert len(texts) == toy.settings.documents
    assert any(record["relations"] for record in mentions)
    assert not all(record["relations"] for record in mentions)
    for record in mentions:
        text = texts[record["document"]]
        assert text[record["start"] : record["stop"]].endswith(".")
        for role in ("head", "tail"):
            for start, stop in record[f"{role}_spans"]:
                assert text[start:stop] in names[record[role]]


def test_the_manifest_says_how_it_was_made(toy: Corpus) -> None:
    manifest = json.loads((toy.folder / "manifest.json").read_text())
    assert InventSettings(**manifest["settings"]) == toy.settings
    assert manifest["parts"]["train"]["sentences"] == 1500


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UserError, match="not empty"):
        invent(tmp_path, SMALL)
    with pytest.raises(UserError, match=r"contains mine\.txt"):
        invent(tmp_path, SMALL, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_corpus_may_be_overwritten(tmp_path: Path) -> None:
    invent(tmp_path / "x", SMALL)
    invent(tmp_path / "x", InventSettings(train_sentences=70, test_sentences=30), overwrite=True)
    assert len((tmp_path / "x" / "train.jsonl").read_text().splitlines()) == 70


def test_a_full_disk_leaves_no_files_and_is_reported_in_one_line(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from sayso.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))\n"  # no file may grow beyond, as on a full disk
        "sys.argv = ['sayso', 'invent', sys.argv[1], '--size', 'toy']; main()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "x")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert (
        result.stderr.strip()
        == f"sayso: {tmp_path}/x: file too large (nothing was written): free some space and try again"
    )
    assert list(tmp_path.iterdir()) == []
