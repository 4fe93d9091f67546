import json
from pathlib import Path

import pytest

from sayso.errors import BadConfigError, UserError
from sayso.invent.raw import RAW_FILES, invent_raw, raw_settings
from sayso.invent.settings import InventSettings
from sayso.readers.tables import read_entity_types, read_triples

SETTINGS = InventSettings(train_sentences=300, test_sentences=100, documents=40)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw") / "news"
    invent_raw(folder, SETTINGS)
    return folder


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_all_files_are_there_and_no_others(raw: Path) -> None:
    assert {path.name for path in raw.iterdir()} == set(RAW_FILES)
    assert len(records(raw / "documents.jsonl")) == 40


def test_every_sentence_of_the_truth_is_at_its_offsets_with_both_names(raw: Path) -> None:
    texts = {record["id"]: record["text"] for record in records(raw / "documents.jsonl")}
    names = {row[0]: row[1:] for row in rows(raw / "names.tsv")}
    truth = records(raw / "truth_sentences.jsonl")
    for record in truth:
        sentence = texts[record["document"]][record["start"] : record["stop"]]
        assert sentence.endswith(".")
        for role in ("head", "tail"):
            assert any(name in sentence for name in names[record[role]])
    assert sum(bool(record["relations"]) for record in truth) > 50


def test_no_withheld_pair_is_in_the_knowledge_base_and_stated_ones_have_a_file(raw: Path) -> None:
    withheld = list(read_triples(raw / "truth_withheld.tsv"))
    pairs = {frozenset((triple.head_id, triple.tail_id)) for triple in read_triples(raw / "kb.tsv")}
    assert not [fact for fact in withheld if frozenset((fact.head_id, fact.tail_id)) in pairs]
    stated = {
        (record["head"], relation, record["tail"])
        for record in records(raw / "truth_sentences.jsonl")
        for relation in record["relations"]  # type: ignore[attr-defined]
    }
    assert list(read_triples(raw / "truth_stated.tsv")) == [fact for fact in withheld if fact in stated]
    assert any(fact not in stated for fact in withheld)


def test_some_names_are_ambiguous_or_common_words_and_some_types_are_missing(raw: Path) -> None:
    entities_of: dict[str, list[str]] = {}
    for entity_id, *names in rows(raw / "names.tsv"):
        for name in names:
            entities_of.setdefault(name, []).append(entity_id)
    assert any(len(found) > 1 for found in entities_of.values())
    assert "May" in entities_of
    given, truth = read_entity_types(raw / "types.json"), read_entity_types(raw / "truth_types.json")
    untyped = sum(not types and bool(truth[entity_id]) for entity_id, types in given.items())
    assert 0.1 < untyped / len(given) < 0.2


def test_a_size_has_articles_sentences_and_no_traps_unless_asked_for() -> None:
    settings = raw_settings("toy", na_share=0.5)
    assert (settings.documents, settings.na_share, settings.unseen_wording_share) == (200, 0.5, 0.0)
    with pytest.raises(BadConfigError, match="unknown size 'huge'"):
        raw_settings("huge")


def test_the_same_settings_make_the_same_bytes_and_foreign_files_stay(raw: Path, tmp_path: Path) -> None:
    counts = invent_raw(tmp_path / "again", SETTINGS)
    assert counts.items() <= json.loads((raw / "manifest.json").read_text()).items()
    for name in RAW_FILES:
        assert (tmp_path / "again" / name).read_bytes() == (raw / name).read_bytes()
    (tmp_path / "again" / "mine.txt").write_text("x")
    with pytest.raises(UserError, match=r"contains mine.txt, which is not part of invented documents"):
        invent_raw(tmp_path / "again", SETTINGS, overwrite=True)
