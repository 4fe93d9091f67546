"""A whole build in this process; `tests/cli/test_build.py` runs the command as users do."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resealed import rewrite
from sayso.documents.build import DocumentTally, build
from sayso.documents.corpus import (
    COUNTS,
    BuildMode,
    BuiltShard,
    DocumentShard,
    na_share_of,
    read_manifest,
    read_records,
    total,
    types_of,
)
from sayso.documents.document import Document, LeftOut
from sayso.documents.entity_graph import is_new_entity
from sayso.documents.markup import without_markup
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.errors import BadInputError, UserError
from sayso.facts.quote import quote_of
from sayso.readers.read import Tally, read_sentences
from sayso.readers.tables import read_entity_types, read_inventory, read_triples
from sayso.records import Relation, Sentence, Triple

TEXTS = {
    "one": "Ana Diaz was born in Rome. Ana Diaz met Bo Holt.",
    "two": "Bo Holt lives in Oslo. In Oslo, Holt met Ana.",
    "three": "Rome is old. Ana Diaz left Rome for Oslo.",
}


class World:
    """Tables and documents in a folder, and corpora built from them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "kb.tsv").write_text("ana\t/born\trome\nbo\t/lived\toslo\nana\t/lived\trome\nbo\t/lived\tnobody\n")
        (folder / "names.tsv").write_text("ana\tAna Diaz\tAna\nbo\tBo Holt\tHolt\nrome\tRome\noslo\tOslo\tIt\n")
        (folder / "types.tsv").write_text("ana\t/person\nbo\t/person\nrome\t/city\noslo\n")

    def documents(self, texts: dict[str, str], name: str = "docs.jsonl") -> Path:
        lines = (json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items())
        (self.folder / name).write_text("".join(lines))
        return self.folder / name

    def build(
        self, texts: dict[str, str], out: str = "out", mode: BuildMode = "new", **settings: Any
    ) -> dict[str, Any]:
        engine = settings.pop("engine", map)
        documents, f = self.documents(texts), self.folder
        tables = {"kb": f / "kb.tsv", "names": f / "names.tsv", "types": f / "types.tsv"}
        inputs = BuildInputs(documents=documents, exceptions=settings.pop("exceptions", None), **tables)
        return build(inputs, BuildSettings(**settings), f / out, lambda *_: None, mode, engine=engine)

    def lines(self, out: str = "out") -> dict[str, str]:
        """Return the combined content of the shards, and the small files."""
        shards = {
            part: "".join(path.read_text() for path in sorted((self.folder / out / part).iterdir()))
            for part in ("train", "rest", "contexts")
        }
        files = ("types.json", "guessed_types.tsv", "relations.jsonl", "kb.tsv")
        return shards | {name: (self.folder / out / name).read_text() for name in files}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def small_shards(
    build_shard: Callable[[DocumentShard], BuiltShard], shards: Iterable[DocumentShard]
) -> Iterator[BuiltShard]:
    """An engine that gives every document its own shard."""
    number = 0
    for shard in shards:
        for document in shard.documents:
            yield build_shard(DocumentShard(shard.number + number, [document]))
            number += 1


def sentences(path: Path) -> list[Sentence]:
    tally = Tally(path)
    found = list(read_sentences(path, tally))
    assert tally.num_bad == 0
    return found


def test_the_corpus_has_every_pair_once_with_what_the_knowledge_base_says(world: World) -> None:
    manifest = world.build(TEXTS, na_share=1.0)
    found = {(s.text, *s.pair): s.relations for s in sentences(world.folder / "out" / "train")}
    assert found["Ana Diaz was born in Rome .", "ana", "rome"] == ("/born", "/lived")
    assert found["Ana Diaz was born in Rome .", "rome", "ana"] == ()
    assert found["Bo Holt lives in Oslo .", "bo", "oslo"] == ("/lived",)
    assert len(found) == sum(n * (n - 1) for n in (2, 2, 2, 3, 3))
    assert manifest["counts"]["sentences"] == 6
    assert {name for record in read_records(world.folder / "out") for name in record.counts} <= set(COUNTS)
    assert manifest["counts"]["lines with a relation"] == 4


def test_a_link_that_reviewers_found_wrong_is_not_made_again(world: World) -> None:
    start = TEXTS["two"].index("In Oslo")
    path = world.folder / "exceptions.tsv"
    path.write_text(f"two\t{start}\t{len(TEXTS['two'])}\tbo\none\t0\t26\tnobody\n")
    manifest = world.build(TEXTS, na_share=1.0, exceptions=path)
    found = {(s.text, *s.pair) for s in sentences(world.folder / "out" / "train")}
    assert manifest["counts"]["links ruled out"] == 1
    assert ("Bo Holt lives in Oslo .", "bo", "oslo") in found
    assert ("In Oslo , Holt met Ana .", "oslo", "ana") in found
    assert not any("bo" in pair for text, *pair in found if text.startswith("In Oslo"))
    with pytest.raises(UserError, match="has changed since this corpus was built"):
        world.build(TEXTS, mode="append", na_share=1.0)


def test_counts_of_an_earlier_build_are_added_to_those_that_have_another_name_now() -> None:
    earlier = {"documents": 1, "lines NA for training": 2, "pairs too many for their sentence": 3}
    now = {"documents": 1, "NA lines for training": 10}
    counts = total([BuiltShard(number, each, {}, {}, {}) for number, each in enumerate((earlier, now))])
    assert counts == dict.fromkeys(COUNTS, 0) | {
        "documents": 2,
        "NA lines for training": 12,
        "pairs above --max-pairs": 3,
    }


def test_entities_that_the_knowledge_base_does_not_have_are_new_and_no_examples_of_na(world: World) -> None:
    spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
    recogniser = spacy.blank("en")
    labels = {"Cy Marsh": "PERSON", "Zorgville": "GPE", "Hans Holt": "PERSON"}
    rows = [{"label": label, "pattern": name} for name, label in labels.items()]
    recogniser.add_pipe("entity_ruler").add_patterns(rows)
    recogniser.to_disk(world.folder / "model")
    texts = TEXTS | {
        "four": "Cy Marsh was born in Zorgville, not in Rome.",
        "five": "Cy Marsh met Ana Diaz. Hans Holt left Oslo.",
        "six": "Zorgville is not Rome.",
    }
    settings = {"finder": "spacy", "spacy_model": str(world.folder / "model"), "new_entities": True, "na_share": 1.0}
    manifest = world.build(texts, **settings)
    out = world.folder / "out"
    rest = {s.pair: s for s in sentences(out / "rest")}
    cy, zorg, hans = "new:person/Cy Marsh", "new:place/Zorgville", "new:person/Hans Holt"
    assert rest[cy, zorg].head.name == "Cy Marsh"
    assert {(cy, "ana"), (zorg, "rome"), ("rome", cy), (hans, "oslo")} <= rest.keys()
    assert not any(is_new_entity(each) for s in sentences(out / "train") for each in s.pair)
    assert all(any(map(is_new_entity, pair)) for pair in rest)
    assert manifest["new_entities"]["entities"] == 3
    assert manifest["new_entities"]["most_frequent"] == {"Cy Marsh": 2, "Zorgville": 2, "Hans Holt": 1}
    assert manifest["counts"]["new entities"] == 5
    assert read_entity_types(out / "types.json")[zorg] == ("/city",)
    world.build({key: texts[key] for key in texts if key != "six"}, "later", **settings)
    world.build(texts, "later", "append", **settings)
    assert world.lines("later") == world.lines()
    assert (world.folder / "later" / "new_entities.tsv").read_text() == (out / "new_entities.tsv").read_text()


def test_ids_that_mark_new_entities_are_not_taken_from_the_tables(world: World) -> None:
    path = world.folder / "kb.tsv"
    path.write_text(path.read_text() + "new:person/Cy\t/born\trome\n")
    assert world.build(TEXTS)["knowledge"]["odd"]["with an id that begins with 'new:', left out"] == 1
    path = world.folder / "names.tsv"
    path.write_text(path.read_text() + "new:x\tCy\n")
    with pytest.raises(BadInputError, match=r"names.tsv:5: entity id 'new:x' begins with 'new:'"):
        world.build(TEXTS, "other")


def test_the_tables_beside_the_sentences_are_those_of_every_other_command(world: World) -> None:
    manifest = world.build(TEXTS)
    out = world.folder / "out"
    assert read_inventory(out / "relations.jsonl") == [Relation("/born"), Relation("/lived")]
    assert Triple("ana", "/born", "rome") in set(read_triples(out / "kb.tsv"))
    assert read_entity_types(out / "types.json")["oslo"] == ()
    assert manifest["knowledge"]["odd"] == {"with an entity that has no name": 1}
    assert manifest["names"]["stopped"] == {"common words": 1}
    assert read_manifest(out)["is_finished"]


def test_a_fact_in_two_neighbouring_sentences_is_found_with_a_window(world: World) -> None:
    texts = {"one": "Ana Diaz sings. She was born in Rome. Rome is old. Bo Holt lives in Oslo."}
    before = world.build(texts, na_share=0.0)
    assert before["counts"]["lines with a relation"] == 1
    for pronouns, written, number in (
        (False, "Ana Diaz sings. She was born in Rome.", 2),
        (True, "She was born in Rome.", 1),
    ):
        manifest = world.build(texts, f"wide {pronouns}", na_share=0.0, window=2, pronouns=pronouns)
        (found,) = (s for s in sentences(world.folder / f"wide {pronouns}" / "train") if s.pair == ("ana", "rome"))
        assert (found.written, found.relations) == (written, ("/born", "/lived"))
        assert manifest["counts"]["neighbouring sentences with pairs"] == number
        rest = {s.pair: s.written for s in sentences(world.folder / f"wide {pronouns}" / "rest")}
        assert rest["rome", "bo"] == "Rome is old. Bo Holt lives in Oslo."
        assert ("ana", "bo") not in rest


def test_offsets_lead_to_sentence_and_mentions_in_the_document(world: World) -> None:
    world.build(TEXTS, na_share=1.0)
    for line in world.lines()["train"].splitlines():
        record = json.loads(line)
        text = TEXTS[record["document"]["id"]]
        assert text[record["document"]["start"] : record["document"]["stop"]].endswith(".")
        for role in ("head", "tail"):
            written = [text[start:stop] for start, stop in record[role]["places"]]
            assert written == [" ".join(record["tokens"][a:b]) for a, b in record[role]["spans"]]


def test_quotes_are_found_in_the_document_at_the_place_of_the_sentence(world: World) -> None:
    texts = {
        "plain": "It rains.  Ana Diaz, of Rome\n(Italy's  capital), left. “Holt’s in Oslo,” he said: ‘no’!",
        "compound": "The Rome-based Ana (see p. 5) isn't in/near Oslo...",
        "html": "<p>Bo <b>Holt</b>&#8217;s&nbsp;<i>Oslo</i>, a book.</p><p>Ana left Rome.</p>",
    }
    world.build(texts, na_share=1.0)
    found = sentences(world.folder / "out" / "train")
    assert {sentence.source.document_id for sentence in found} == texts.keys()
    for sentence in found:
        there = texts[sentence.source.document_id][sentence.source.start : sentence.source.stop]
        folded = " ".join(without_markup(there).text.split())
        quote = quote_of(sentence, 1, 0.5)
        assert sentence.written == quote.sentence == folded
        assert quote.exact in folded


def test_what_training_does_not_see_is_in_rest(world: World) -> None:
    world.build(TEXTS, "all", na_share=1.0)
    world.build(TEXTS, "some", na_share=0.3)
    assert (world.folder / "all" / "rest").is_dir()
    assert world.lines("all")["rest"] == ""
    some = world.lines("some")
    assert some["rest"]
    assert sorted((some["train"] + some["rest"]).splitlines()) == sorted(world.lines("all")["train"].splitlines())
    assert all('"relations": []' in line for line in some["rest"].splitlines())
    assert [na_share_of(world.folder / each) for each in ("all/train", "some/train", "some/rest", "no")] == [
        1,
        0.3,
        1,
        1,
    ]


@pytest.mark.parametrize("num_first", [0, 1, 2, 3])
def test_appending_gives_what_building_all_at_once_gives(world: World, num_first: int) -> None:
    texts = TEXTS | {f"more {number}": f"Ana met Bo Holt in Rome in year {number}." for number in range(30)}
    at_once = world.build(texts, "at once")
    first = dict(list(texts.items())[: num_first * 10 + 1])
    world.build(first, "twice")
    appended = world.build(texts, "twice", "append")
    assert appended["documents"]["num_already_there"] == len(first)
    assert world.lines("twice") == world.lines("at once")
    assert appended["counts"] == at_once["counts"]


def test_appending_the_same_again_changes_nothing(world: World) -> None:
    before, lines = world.build(TEXTS), world.lines()
    after = world.build(TEXTS, mode="append")
    assert world.lines() == lines
    assert after["counts"] == before["counts"]
    assert after["documents"]["num_new"] == 0


def test_a_changed_document_is_named_and_not_taken_again(world: World) -> None:
    world.build(TEXTS)
    lines = world.lines()
    manifest = world.build(TEXTS | {"two": "Ana lives in Oslo."}, mode="append")
    assert (manifest["documents"]["num_changed"], manifest["documents"]["changed"]) == (1, ["two"])
    assert world.lines() == lines


def test_shards_and_their_order_make_no_difference(world: World) -> None:
    world.build(TEXTS, "one")
    manifest = world.build(TEXTS, "many", engine=small_shards)
    assert manifest["shards"] == 3
    assert world.lines("many") == world.lines("one")


def test_the_manifest_is_the_same_whichever_shard_is_done_first(world: World) -> None:
    names, texts = world.folder / "names.tsv", {"one": "Ana saw Rome.", "two": "Ana saw Oslo."}
    names.write_text(names.read_text() + "town\tRome\tOslo\n")

    def backwards(
        build_shard: Callable[[DocumentShard], BuiltShard], shards: Iterable[DocumentShard]
    ) -> Iterator[BuiltShard]:
        return reversed([*small_shards(build_shard, shards)])

    first, second = (
        world.build(texts, name, engine=engine) for name, engine in (("a", small_shards), ("b", backwards))
    )
    assert list(first["ambiguous"].items()) == [("Rome", 1), ("Oslo", 1)]
    assert json.dumps(first) == json.dumps(second)


def test_after_an_interruption_append_goes_on_and_clears_what_has_no_record(world: World) -> None:
    def broken(
        build_shard: Callable[[DocumentShard], BuiltShard], shards: Iterable[DocumentShard]
    ) -> Iterator[BuiltShard]:
        done = small_shards(build_shard, shards)
        yield next(done)
        next(done)
        (world.folder / "out" / "shards" / "000001.json").unlink()  # killed before the record
        (world.folder / "out" / "train" / ".000002.jsonl.0badcafe.partial").write_text("half a li")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.build(TEXTS, engine=broken)
    assert not read_manifest(world.folder / "out")["is_finished"]
    with pytest.raises(UserError, match='`sayso build` was interrupted in this folder: continue with mode="append"'):
        world.build(TEXTS)
    manifest = world.build(TEXTS, mode="append")
    world.build(TEXTS, "straight")
    assert world.lines() == world.lines("straight")
    assert manifest["documents"]["num_already_there"] == 1
    assert not list((world.folder / "out").glob("*/.*.partial"))


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("manifest.json", {"inputs": None}, "not a valid corpus manifest (inputs: missing)"),
        ("manifest.json", {"settings": 5}, "not a valid corpus manifest (settings: "),
        ("shards/000000.json", {"counts": None}, "not a valid shard record (counts: missing)"),
        ("shards/000000.json", {"number": "0"}, "not a valid shard record (number: "),
    ],
)
def test_what_an_earlier_build_noted_is_refused_where_a_field_is_missing_or_of_another_type(
    world: World, name: str, changes: dict[str, Any], reason: str
) -> None:
    world.build(TEXTS)
    rewrite(world.folder / "out" / name, **changes)
    with pytest.raises(BadInputError) as refused:
        world.build(TEXTS, mode="append")
    assert f"{name}: {reason}" in str(refused.value)


def test_a_corpus_that_is_being_added_to_is_not_finished(world: World) -> None:
    def broken(*_: object) -> Iterator[BuiltShard]:
        raise KeyboardInterrupt
        yield

    world.build({"one": TEXTS["one"]})
    with pytest.raises(KeyboardInterrupt):
        world.build(TEXTS, mode="append", engine=broken)
    with pytest.raises(UserError, match='was interrupted in this folder: continue with mode="append"'):
        world.build(TEXTS)
    assert world.build(TEXTS, mode="append")["is_finished"]


def test_an_existing_folder_is_refused_appended_to_or_replaced(world: World) -> None:
    world.build(TEXTS)
    with pytest.raises(
        UserError,
        match='`sayso build` has finished in this folder: continue with mode="append",'
        ' start over with mode="overwrite"',
    ):
        world.build(TEXTS)
    world.build({"one": TEXTS["one"]}, mode="overwrite")
    assert "Oslo" not in world.lines()["train"]
    (world.folder / "mine").mkdir()
    (world.folder / "mine" / "thesis.txt").write_text("years of work")
    for mode in ("new", "overwrite"):
        with pytest.raises(UserError, match="the folder was not written by `sayso build`"):
            world.build(TEXTS, "mine", mode)
    with pytest.raises(UserError, match="no built corpus to append to"):
        world.build(TEXTS, "none", "append")


def test_documents_of_which_none_can_be_used_leave_no_folder(world: World) -> None:
    with pytest.raises(BadInputError):
        world.build({})
    assert not (world.folder / "out").exists()


def test_after_refused_documents_the_corrected_call_starts_over_and_append_goes_on(world: World) -> None:
    bad = {"one": TEXTS["one"], "none": "\x00\x01\x02" * 100}
    for out in ("new", "going on"):
        with pytest.raises(BadInputError, match="1 of 2 documents cannot be used"):
            world.build(bad, out)
    assert world.build(TEXTS, "new")["documents"] == world.build(TEXTS, "at once")["documents"]
    assert world.lines("new") == world.lines("at once")
    assert world.build(TEXTS, "going on", "append")["documents"]["num_already_there"] == 1


def test_other_settings_or_tables_cannot_be_appended(world: World) -> None:
    world.build(TEXTS)
    with pytest.raises(UserError, match=r"built with na_share 0.25, not 0.5"):
        world.build(TEXTS, mode="append", na_share=0.5)
    (world.folder / "kb.tsv").write_text("ana\t/born\trome\n")
    with pytest.raises(UserError, match="kb has changed since this corpus was built"):
        world.build(TEXTS, mode="append")


def test_one_build_at_a_time_writes_into_a_folder(world: World) -> None:
    def meanwhile(
        build_shard: Callable[[DocumentShard], BuiltShard], shards: Iterable[DocumentShard]
    ) -> Iterator[BuiltShard]:
        with pytest.raises(UserError, match="`sayso build` is running in this folder"):
            world.build(TEXTS, mode="append")
        yield from map(build_shard, shards)

    world.build(TEXTS, engine=meanwhile)


def test_ambiguous_names_are_skipped_or_decided_by_context(world: World) -> None:
    names = world.folder / "names.tsv"
    names.write_text(names.read_text() + "other\tCy Holt\tHolt\n")
    skipped = world.build(TEXTS, "skip", ambiguous="skip")
    assert skipped["ambiguous"] == {"Holt": 1}
    assert skipped["counts"]["ambiguous names resolved"] == 0
    decided = world.build(TEXTS, "context")
    assert decided["counts"]["ambiguous names resolved"] == 1
    assert decided["counts"]["sentences with pairs"] == skipped["counts"]["sentences with pairs"]
    assert len(world.lines("context")["contexts"].splitlines()) == len(world.lines("skip")["contexts"].splitlines()) + 1


def test_doubtful_links_are_counted_and_listed_and_dropped_unless_they_are_to_be_kept(world: World) -> None:
    texts = {"a": "It rained. <b>Ana Diaz University</b> is in Rome.", "b": "Ana left Rome."}
    dropped, kept = world.build(texts), world.build(texts, "kept", doubtful="keep")
    for out, manifest in (("out", dropped), ("kept", kept)):
        assert manifest["counts"]["doubtful links"] == 1
        assert manifest["doubtful"] == {'part of "Ana Diaz University"': 1}
        (line,) = (world.folder / out / "doubtful" / "000000.tsv").read_text().splitlines()
        document, start, stop, *rest = line.split("\t")
        assert rest == ["Ana Diaz", "ana", 'part of "Ana Diaz University"']
        assert texts[document][int(start) : int(stop)] == "Ana Diaz"
    assert dropped["counts"]["sentences with pairs"] + 1 == kept["counts"]["sentences with pairs"] == 2


def test_missing_files_and_unusable_documents_are_reported(world: World) -> None:
    with pytest.raises(BadInputError, match=r"no usable documents \(first: .*: empty\)"):
        world.build({"a": " "})
    (world.folder / "names.tsv").unlink()
    with pytest.raises(BadInputError, match=r"names.tsv: no such file"):
        world.build(TEXTS)


def test_a_corpus_built_without_types_offers_none(world: World) -> None:
    f = world.folder
    world.build(TEXTS, "typed")
    assert types_of(f / "typed", None) == f / "typed" / "types.json"
    inputs = BuildInputs(documents=world.documents(TEXTS), kb=f / "kb.tsv", names=f / "names.tsv")
    build(inputs, BuildSettings(), f / "bare", lambda *_: None)
    assert types_of(f / "bare", None) is None
    assert types_of(f / "bare", f / "types.tsv") == f / "types.tsv"


def taken(intake: DocumentTally, *items: Document | LeftOut, there: dict[str, str] | None = None) -> list[str]:
    return [document.text for document in intake.new_ones(items, {} if there is None else there)]


def test_known_documents_are_skipped_and_changed_ones_are_reported() -> None:
    intake, there = DocumentTally(), {"a": Document("a", "one").fingerprint, "b": "other"}
    assert taken(intake, Document("a", "one"), Document("b", "two"), Document("c", "three"), there=there) == ["three"]
    assert (intake.num_new, intake.num_already_there, intake.num_changed, intake.changed) == (1, 1, 1, ["b"])


def test_a_repeated_id_is_used_once() -> None:
    intake = DocumentTally()
    assert taken(intake, Document("a", "one"), Document("a", "one"), Document("a", "two")) == ["one"]
    assert (intake.num_already_there, intake.changed) == (1, ["a"])


def test_kinds_of_errors_are_counted_without_their_numbers() -> None:
    intake = DocumentTally()
    taken(
        intake,
        LeftOut("x:1", "byte 3 is not UTF-8"),
        LeftOut("x:2", "byte 1,999 is not UTF-8"),
        LeftOut("x:3", "mention [0, 30] lies outside"),
        LeftOut("x:4", "'id' is missing"),
    )
    assert intake.left_out == {"byte … is not UTF-8": 2, "mention […, …] lies outside": 1, "'id' is missing": 1}
    assert intake.first_bad[1] == "x:2: byte 1,999 is not UTF-8"


def test_too_many_unusable_documents_are_refused_but_empty_ones_are_no_fault() -> None:
    intake = DocumentTally()
    taken(intake, Document("a", "one"), LeftOut("y", "empty", is_fault=False), LeftOut("x", "bad"))
    with pytest.raises(BadInputError, match=r"docs: 1 of 2 documents cannot be used, more than 5%.*\(first: x: bad"):
        intake.refuse_too_many_left_out(Path("docs"), 0.05)
    intake.refuse_too_many_left_out(Path("docs"), 0.5)


def test_no_usable_documents_is_an_error_whatever_share_is_allowed() -> None:
    intake = DocumentTally()
    with pytest.raises(BadInputError, match="docs: contains no documents"):
        intake.refuse_too_many_left_out(Path("docs"), 1.0)
    taken(intake, LeftOut("y", "empty", is_fault=False))
    with pytest.raises(BadInputError, match=r"no usable documents \(first: y: empty\)"):
        intake.refuse_too_many_left_out(Path("docs"), 1.0)
