import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from resealed import rewrite
from sayso.embeddings.word2vec import write_word_vectors
from sayso.errors import BadInputError, LeakageError, UserError
from sayso.readers import jsonl
from sayso.records import Source
from sayso.store.columns import read_columns, to_numpy, write_columns
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from toy import make_sentence

PEOPLE = ["ann", "bob", "eve", "dan", "zoe", "kim", "lou", "max"]
CITIES = ["rome", "oslo", "el_paso", "bonn"]


def line(head: str, tail: str, relation: str, text: str) -> str:
    return f"id.{head}\tid.{tail}\t{head}\t{tail}\t{relation}\t{text}\t###END###\n"


@pytest.fixture
def files(tmp_path: Path) -> Inputs:
    """Return the small files of a whole corpus."""
    train, test = tmp_path / "train.txt", tmp_path / "test.txt"
    train.write_text(
        "".join(line(p, c, "/lived" if p < "f" else "NA", f"{p} was seen in {c} .") for p in PEOPLE for c in CITIES[:3])
        + line("ann", "rome", "/born", "ann was seen in rome .")
    )
    test.write_text(line("ann", "bonn", "/lived", "ann moved to bonn .") + line("bob", "bonn", "NA", "bob saw bonn ."))
    relations = tmp_path / "relation2id.txt"
    relations.write_text("4\nNA 0\n/lived 1\n/born 2\n/died 3\n")
    types = tmp_path / "types.json"
    types.write_text(
        json.dumps({f"id.{p}": ["/person"] for p in PEOPLE} | {"id.rome": ["/location", "/location/city"]})
    )
    direct = tmp_path / "direct.txt"
    direct.write_text('1\t"<e1> Ann Lee </e1> works for <e2> Acme </e2> ."\nper:employee_of(e1,e2)\n\n\n')
    vectors = tmp_path / "vectors.txt"
    words = ["was", "seen", "in", ".", "el", "paso", "ann", "lee"]
    write_word_vectors(vectors, words, np.arange(16, dtype=np.float32).reshape(8, 2), binary=False)
    entity_vectors = tmp_path / "entities.txt"
    write_word_vectors(entity_vectors, ["id.ann"], np.ones((1, 3), np.float32), binary=False)
    marks = tmp_path / "marks.jsonl"
    mark = {
        "head": "id.ann",
        "tail": "id.bonn",
        "relation": "/lived",
        "sentence": "ann moved to bonn .",
        "label": "rationale",
    }
    lost = [mark | {"tail": "id.x"}, mark | {"relation": "/x"}, mark | {"sentence": "x"}]
    marks.write_text("".join(json.dumps(m) + "\n" for m in (mark, *lost)))
    return Inputs(
        train=train,
        test=test,
        relations=relations,
        types=types,
        direct=(direct,),
        vectors=vectors,
        entity_vectors=entity_vectors,
        marks=(marks,),
    )


def quiet(*_: object) -> None:
    """Ignore progress."""


def make(inputs: Inputs, out: Path, **settings) -> Store:
    prepare(inputs, PrepareSettings(validation_share=0.25, **settings), out, quiet)
    return Store(out)


def test_bags_come_back_from_the_store_as_they_were_written(files: Inputs, tmp_path: Path) -> None:
    store = make(files, tmp_path / "store")
    test = store.part("test")
    bag = store.bag(test, 0)
    assert (bag.head_id, bag.tail_id, bag.relations) == ("id.ann", "id.bonn", {"/lived"})
    assert bag.sentences[0].text == "ann moved to bonn ."
    assert [list(m.spans[0]) for m in (bag.sentences[0].head, bag.sentences[0].tail)] == [[0, 1], [3, 4]]
    assert store.bag(test, 1).relations == frozenset()
    assert [r.name for r in store.relations] == ["/lived", "/born", "/died"]


def test_how_documents_write_sentences_comes_back_from_the_store(files: Inputs, tmp_path: Path) -> None:
    sentences = [
        make_sentence("h 's in ( t )")._replace(source=Source("d", 5, 15, (1, 4, 5), (1,))),
        make_sentence("h and t .")._replace(source=Source("e", 0, 9)),
        make_sentence("h or t ."),
    ]
    files.test.write_text("".join(f"{jsonl.write(sentence)}\n" for sentence in sentences))
    store = make(files, tmp_path / "store")
    assert [each.source for each in store.bag(store.part("test"), 0).sentences] == [each.source for each in sentences]


def test_a_store_from_before_documents_said_how_they_write_is_read(files: Inputs, tmp_path: Path) -> None:
    sentence = make_sentence("h 's in t .")._replace(source=Source("d", 5, 15, (1, 4)))
    files.test.write_text(f"{jsonl.write(sentence)}\n")
    store = make(files, tmp_path / "store")
    path = store.folder / "test.sentences.arrow"
    columns = {name: to_numpy(array) for name, array in read_columns(store.files, path.name).items()}
    assert columns.pop("glued").value.tolist() == [1, 4]
    assert "curly" not in columns, "what no sentence has is not written"
    assert columns.keys() == read_columns(store.files, "train.sentences.arrow").keys()
    write_columns(tmp_path / "old.arrow", columns)
    (tmp_path / "old.arrow").replace(path)
    rewrite(store.folder / "manifest.json")
    (old,) = Store(store.folder).bag(Store(store.folder).part("test"), 0).sentences
    assert (old.source, old.written) == (Source("d", 5, 15), "h 's in t .")


def test_training_and_validation_hold_all_pairs_once(files: Inputs, tmp_path: Path) -> None:
    store = make(files, tmp_path / "store")
    train, validation = store.part("train"), store.part("validation")
    assert (train.num_bags, validation.num_bags) == (18, 6)
    labels = {
        (bag.head_id, bag.tail_id): bag.relations
        for table in (train, validation)
        for bag in (store.bag(table, i) for i in range(table.num_bags))
    }
    assert len(labels) == 24
    assert labels["id.ann", "id.rome"] == {"/lived", "/born"}
    assert labels["id.zoe", "id.rome"] == frozenset()


def test_words_with_a_vector_come_first_by_frequency_and_names_get_the_mean_of_their_parts(
    files: Inputs, tmp_path: Path
) -> None:
    store = make(files, tmp_path / "store")
    words = store.words.to_pylist()
    assert words[0] == "<unknown>"
    assert store.vector_VD.shape == (7 + 1, 2)  # of "el" and "paso" only "el_paso" is a word; "lee" is in "ann_lee"
    assert set(words[1:8]) == {"was", "seen", "in", ".", "ann", "el_paso", "ann_lee"}
    assert store.vector_VD[words.index("el_paso")].tolist() == [9.0, 10.0]
    assert store.vector_VD[0].tolist() == [0.0, 0.0]
    counts = store.word_count[1:8]
    assert (np.diff(counts) <= 0).all()


def test_types_and_entity_vectors_are_attached(files: Inputs, tmp_path: Path) -> None:
    store = make(files, tmp_path / "store")
    number = {entity: i for i, entity in enumerate(store.entities["id"].to_pylist())}
    kinds = [store.types[i] for i in store.entities["type"].to_pylist()]
    assert kinds[number["id.ann"]] == "/person"
    assert kinds[number["id.rome"]] == "/location/city"
    assert kinds[number["id.oslo"]] == "/other"
    vectors = store.entities["vector"].to_pylist()
    assert vectors[number["id.ann"]] == [12.0, 13.0, 1.0, 1.0, 1.0]
    assert vectors[number["id.el_paso"]] == [9.0, 10.0, 0.0, 0.0, 0.0]
    assert vectors[number["id.bob"]] == [0.0] * 5


def test_direct_sentences_keep_their_own_labels_but_those_of_crowds_have_none(files: Inputs, tmp_path: Path) -> None:
    tagged, crowd = tmp_path / "tagged.txt", tmp_path / "crowd.jsonl"
    blocks = [
        ("<e1> Ann Lee </e1> works for <e2> Acme </e2> .", "per:employee_of(e1,e2)"),
        ("<e1> Acme </e1> hired <e2> Ann Lee </e2> .", "per:employee_of(e2,e1)"),
        ("<e1> Ann Lee </e1> saw <e2> Acme </e2> .", "no_relation"),
    ]
    tagged.write_text("".join(f'{n}\t"{text}"\n{label}\n\n\n' for n, (text, label) in enumerate(blocks)))
    answers = {"distant_relation": "per:title", "workers": 15, "any_relation": 1.0, "distant_relation_seen": 1.0}
    crowd.write_text(json.dumps({"text": "Ann Lee runs Acme .", "head": "Ann Lee", "tail": "Acme", **answers}) + "\n")
    store = make(replace(files, direct=(tagged, crowd)), tmp_path / "labelled")
    assert store.direct_labels == ["no_relation", "per:employee_of(e1,e2)", "per:employee_of(e2,e1)"]
    assert store.manifest["direct_labels"] == {"num": 3, "num_sentences": 3}
    table = store.part("direct")
    sentences = [sentence for bag in range(table.num_bags) for sentence in store.bag(table, bag).sentences]
    labels = {sentence.text: number for sentence, number in zip(sentences, table.label_N.tolist(), strict=True)}
    verbs = {next(verb for verb in ("works", "hired", "saw", "runs") if verb in text): n for text, n in labels.items()}
    assert verbs == {"works": 1, "hired": 2, "saw": 0, "runs": -1}
    assert (store.part("train").label_N == -1).all()
    assert "per:title" not in [relation.name for relation in store.relations]


def test_direct_sentences_are_written_as_the_corpus_writes(files: Inputs, tmp_path: Path) -> None:
    store = make(files, tmp_path / "store")
    (sentence,) = store.bag(store.part("direct"), 0).sentences
    assert sentence.text == "ann_lee works for acme ."
    assert sentence.expresses == 1.0
    assert "per:employee_of" not in [relation.name for relation in store.relations]


def test_marks_are_matched_and_those_that_fit_nothing_are_listed(files: Inputs, tmp_path: Path) -> None:
    (marks,) = files.marks
    marks.write_text(marks.read_text() + "{\n")
    store = make(files, tmp_path / "store", max_bad_share=0.2)
    report = store.manifest["marks"]
    assert (report["num_matched"], report["num_unmatched"]) == (1, 4)
    assert [shown.rpartition("marks.jsonl:")[2].split(":")[0] for shown in report["first_unmatched"]] == list("2345")
    assert store.marks["label"].to_pylist() == ["rationale"]


def test_marks_on_training_pairs_are_kept_apart_from_those_for_evaluation(files: Inputs, tmp_path: Path) -> None:
    (marks,) = files.marks
    pairs = [(person, city) for person in PEOPLE for city in CITIES[:3]]
    given = [
        {"head": f"id.{p}", "tail": f"id.{c}", "relation": "/lived", "sentence": f"{p} was seen in {c} .", "label": p}
        for p, c in pairs
    ]
    marks.write_text(marks.read_text().splitlines()[0] + "\n" + "".join(json.dumps(mark) + "\n" for mark in given))
    store = make(files, tmp_path / "store")
    assert store.manifest["marks"]["num_by_part"] == {"test": 1, "validation": 6, "train": 18}
    for part in ("train", "validation"):
        table, columns = store.part(part), store.marks_of(part)
        rows = dict(zip(columns["sentence"].to_pylist(), columns["label"].to_pylist(), strict=True))
        assert store.num_marks(part) == len(rows) == table.num_sentences
        for bag in range(table.num_bags):
            (sentence,) = store.bag(table, bag).sentences
            assert rows[int(table.first_B1[bag])] == sentence.head.name
    assert store.marks["label"].to_pylist() == ["rationale"]


def test_a_pair_that_leaks_into_training_has_its_marks_for_evaluation_only(files: Inputs, tmp_path: Path) -> None:
    assert files.test is not None
    files.train.write_text(files.train.read_text() + files.test.read_text())
    store = make(files, tmp_path / "store", leak="allow")
    assert store.manifest["marks"]["num_by_part"] == {"test": 1, "validation": 0, "train": 0}


def test_a_store_that_calls_marks_judgements_is_read_with_a_note(
    files: Inputs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "store"
    make(files, folder, max_bad_share=1.0)
    (folder / "marks.arrow").rename(folder / "judgements.arrow")
    manifest = json.loads((folder / "manifest.json").read_text())
    files_now = {**manifest["files"], "judgements.arrow": manifest["files"]["marks.arrow"]}
    report = {name: value for name, value in manifest["marks"].items() if name != "num_by_part"}
    rewrite(folder / "manifest.json", files=files_now, judgements=report, marks=None)
    store = Store(folder)
    assert (store.manifest["marks"]["num_matched"], store.marks["label"].to_pylist()) == (1, ["rationale"])
    assert (store.num_marks("test"), store.num_marks("train")) == (1, 0)
    assert "written by sayso 0.1 ('judgements' are now called 'marks')" in caplog.text


def test_a_store_that_a_killed_process_had_moved_aside_is_opened(files: Inputs, tmp_path: Path) -> None:
    store = make(files, tmp_path / "store")
    store.folder.rename(tmp_path / ".store.0123abcd.replaced")
    assert Store(tmp_path / "store").fingerprint == store.fingerprint


@pytest.mark.parametrize(
    ("name", "column", "value", "message"),
    [
        ("train.bags", "head_B", 10**6, r"part train: a value of head_B is not between 0 and \d+: "),
        ("train.sentences", "window_N2", -1, r"part train: a value of window_N2 is not between 0 and \d+: "),
        ("vectors", "vector", np.nan, r"vectors\.arrow: a vector is not finite: "),
        ("entities", "vector", np.inf, r"entities\.arrow: a vector is not finite: "),
    ],
)
def test_numbers_that_cannot_be_are_refused_also_where_the_checksums_fit(
    files: Inputs, tmp_path: Path, name: str, column: str, value: float, message: str
) -> None:
    folder = make(files, tmp_path / "store").folder
    found = read_columns(Store(folder).files, f"{name}.arrow")
    columns = {
        each: array.to_pylist() if pa.types.is_large_string(array.type) else to_numpy(array)
        for each, array in found.items()
    }
    changed = columns[column].copy()
    changed.flat[0] = value
    write_columns(folder / f"{name}.arrow", columns | {column: changed})
    rewrite(folder / "manifest.json")
    store = Store(folder)
    with pytest.raises(BadInputError, match=message):
        (store.part("train"), store.vector_VD)


def test_bad_lines_of_a_marks_file_count_as_in_every_other_file(files: Inputs, tmp_path: Path) -> None:
    (marks,) = files.marks
    marks.write_text(marks.read_text() + "{\n")
    with pytest.raises(BadInputError, match=r"marks\.jsonl:5: .* \(1 of 5 lines are bad, more than 0\.10%: allow more"):
        make(files, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_file_without_a_mark_is_refused_however_many_bad_lines_are_allowed(files: Inputs, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r'train\.txt:1: .*no line of this file is a mark: .*{"head": …'):
        make(replace(files, marks=(files.train,)), tmp_path / "store", max_bad_share=1.0)


def test_the_store_is_the_same_byte_for_byte_when_made_again(files: Inputs, tmp_path: Path) -> None:
    make(files, tmp_path / "one")
    make(files, tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_the_fingerprint_follows_content_and_settings_not_file_names(files: Inputs, tmp_path: Path) -> None:
    moved = tmp_path / "moved.txt"
    moved.write_bytes(files.train.read_bytes())
    one = make(files, tmp_path / "one").fingerprint
    assert one == make(Inputs(**(vars(files) | {"train": moved})), tmp_path / "two").fingerprint
    assert one != make(files, tmp_path / "three", seed=14).fingerprint
    moved.write_text(moved.read_text() + line("lou", "bonn", "NA", "lou of bonn"))
    assert one != make(Inputs(**(vars(files) | {"train": moved})), tmp_path / "four").fingerprint


def test_a_test_pair_in_training_is_refused_dropped_or_allowed(files: Inputs, tmp_path: Path) -> None:
    assert files.test
    files.test.write_text(files.test.read_text() + line("ann", "rome", "/lived", "ann knew rome ."))
    with pytest.raises(LeakageError, match='leak="drop"'):
        make(files, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    dropped = make(files, tmp_path / "dropped", leak="drop")
    assert dropped.part("train").num_bags + dropped.part("validation").num_bags == 23
    allowed = make(files, tmp_path / "allowed", leak="allow")
    assert allowed.manifest["leakage"]["test_pairs_in_train"] == 1


def test_a_store_without_training_bags_is_refused_with_what_became_of_the_pairs(files: Inputs, tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError, match=r"train\.txt: no pairs are left for training \(24 left out as test pairs\): choose"
    ):
        make(replace(files, test=files.train, marks=()), tmp_path / "store", leak="drop")
    files.train.write_text("".join(line(p, "rome", "NA", "ann and bob left rome .") for p in ("ann", "bob")))
    with pytest.raises(BadInputError, match=r"\(1 in validation, 1 left out because their sentences are in validation"):
        prepare(Inputs(train=files.train), PrepareSettings(validation_share=0.5), tmp_path / "store", quiet)
    assert not (tmp_path / "store").exists()


def test_without_an_inventory_the_relations_are_those_that_occur(files: Inputs, tmp_path: Path) -> None:
    store = make(Inputs(train=files.train), tmp_path / "store")
    assert [relation.name for relation in store.relations] == ["/lived", "/born"]
    assert store.parts == ["train", "validation"]
    with pytest.raises(BadInputError, match="no part 'test'; choose one of train, validation"):
        store.part("test")


def test_a_folder_that_holds_something_is_not_written_over(files: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "store"
    make(files, out)
    with pytest.raises(UserError, match="not empty"):
        make(files, out)
    prepare(files, PrepareSettings(), out, quiet, overwrite=True)


def test_only_a_store_is_replaced_by_a_store(files: Inputs, tmp_path: Path) -> None:
    """A folder of the user's own files, passed by mistake, must survive --overwrite."""
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UserError, match=r"the folder contains .*, which is not part of a store; choose another folder"):
        prepare(files, PrepareSettings(), tmp_path, quiet, overwrite=True)
    assert sorted(tmp_path.iterdir()) == before


def test_a_store_of_another_format_may_be_replaced(files: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "store"
    out.mkdir()
    (out / "manifest.json").write_text('{"format": 0}')
    prepare(files, PrepareSettings(), out, quiet, overwrite=True)
    assert Store(out).parts


def test_a_folder_that_is_taken_is_refused_before_anything_is_read(files: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "store"
    make(files, out)
    files.train.write_text("no sentence at all\n")
    with pytest.raises(UserError, match="not empty"):
        make(files, out)


@pytest.mark.parametrize("text", ["", "{}", "{", "[]", '{"made_by": "sayso invent"}', '{"format": 99}'])
def test_what_is_not_a_store_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(BadInputError, match="sayso prepare"):
        Store(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"parts": None}, "parts: missing"), ({"parts": 5}, "parts: "), ({"fingerprint": None}, "fingerprint: missing")],
)
def test_a_manifest_without_a_field_or_with_one_of_another_type_is_refused(
    files: Inputs, tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    folder = make(files, tmp_path / "store").folder
    rewrite(folder / "manifest.json", **changes)
    with pytest.raises(BadInputError, match=rf"manifest\.json: not a valid store manifest \({reason}.*sayso prepare"):
        Store(folder)


def test_a_damaged_column_is_named(files: Inputs, tmp_path: Path) -> None:
    store = make(files, tmp_path / "store")
    path = store.folder / "words.arrow"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(BadInputError, match=r"words\.arrow"):
        _ = store.words


def test_a_killed_prepare_leaves_no_store(files: Inputs, tmp_path: Path) -> None:
    out = tmp_path / "store"
    program = (
        "import os, signal\nfrom pathlib import Path\nimport sayso.store.store as store\n"
        "from sayso.store.inputs import Inputs, PrepareSettings\nfrom sayso.store.prepare import prepare\n"
        # The last thing written before the folder gets its name.
        "store.to_json = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"prepare(Inputs(train=Path({str(files.train)!r})), PrepareSettings(), Path({str(out)!r}), print)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, env=os.environ, check=False)
    assert result.returncode == -signal.SIGKILL
    assert not out.exists()
    make(files, out)
    assert not list(tmp_path.glob(".store*")), "what the killed run left is cleared away"


def test_a_byte_order_mark_does_not_hide_a_test_pair_from_the_leakage_guard(files: Inputs, tmp_path: Path) -> None:
    test = tmp_path / "marked.txt"
    test.write_text(line("ann", "rome", "/lived", "ann left rome ."), encoding="utf-8-sig")
    with pytest.raises(LeakageError, match="1 test pairs are in the training data"):
        make(replace(files, test=test, marks=()), tmp_path / "store")


def test_a_knowledge_base_in_place_of_types_is_refused(files: Inputs, tmp_path: Path) -> None:
    kb = tmp_path / "kb.tsv"
    kb.write_text("id.ann\t/lived\tid.rome\n")
    with pytest.raises(BadInputError, match="contains facts, not types: '/lived' is a relation"):
        make(replace(files, types=kb), tmp_path / "store")


def test_types_of_other_entities_are_refused(files: Inputs, tmp_path: Path) -> None:
    types = tmp_path / "other.tsv"
    types.write_text("somebody\t/person\nid.ann\n")
    with pytest.raises(
        BadInputError, match=r"other\.tsv: none of the 14 entities in the corpus \(such as 'id\.\w+'\) has a"
    ):
        make(replace(files, types=types), tmp_path / "store")


def test_directly_supervised_sentences_of_test_are_left_out_and_counted(files: Inputs, tmp_path: Path) -> None:
    test = tmp_path / "tested.txt"
    test.write_text(line("ann", "bonn", "/lived", "ann moved -lrb- again -rrb- to bonn 's suburbs , at last ."))
    direct = tmp_path / "both.txt"
    blocks = (
        "<e1> Ann </e1> moved (again) to <e2> Bonn's </e2> suburbs at last .",
        "<e1> Ann </e1> likes <e2> tea </e2>",
    )
    direct.write_text("".join(f'{number}\t"{text}"\nper:title(e1,e2)\n\n' for number, text in enumerate(blocks)))
    inputs = replace(files, test=test, direct=(direct,), marks=())
    store = make(inputs, tmp_path / "store")
    assert store.manifest["leakage"]["direct_sentences_in_test"] == 1
    assert store.part("direct").num_sentences == 1
    assert make(inputs, tmp_path / "allowed", leak="allow").part("direct").num_sentences == 2
