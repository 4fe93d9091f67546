import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sayso.cli.embeddings import entities, vectors
from sayso.embeddings.pretrained import read_entity_vectors
from sayso.embeddings.word2vec import read_word_vectors
from sayso.errors import BadInputError, LeakageError, UserError
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare


def corpus(folder: Path) -> Path:
    path = folder / "train.txt"
    path.write_text(
        "".join(f"m.{i}\tm.c\tp{i}\tel_paso\tNA\tthen p{i} lived in el_paso\t###END###\n" for i in range(20))
    )
    return path


def test_train_writes_vectors_and_names_the_next_command(tmp_path):
    out = tmp_path / "words.bin"
    result = CliRunner().invoke(
        vectors, ["train", str(corpus(tmp_path)), "--out", str(out), "--width", "4", "--seed", "1"]
    )
    assert result.exit_code == 0, result.output
    assert read_word_vectors(out).matrix.shape[1] == 4
    assert "20 distinct sentences" in result.stdout
    assert "epoch 5 of 5" in result.stderr
    following = f"sayso prepare --train {tmp_path}/train.txt --vectors {out} --out store"
    assert f"wrote {out}\nnext: {following}\n" in result.stderr


@pytest.mark.parametrize(
    ("manifest", "tables"),
    [
        ({"made_by": "sayso build", "types": {"given": 2}}, "--relations {0}/relations.jsonl --types {0}/types.json"),
        ({"made_by": "sayso build", "types": {"given": 0}}, "--relations {0}/relations.jsonl"),
        ({"made_by": "sayso invent"}, "--relations {0}/relations.tsv --types {0}/types.json"),
    ],
)
def test_the_next_command_names_the_tables_beside_the_sentences(tmp_path, manifest: dict[str, object], tables: str):
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    out = tmp_path / "words.bin"
    result = CliRunner().invoke(
        vectors, ["train", str(corpus(tmp_path)), "--out", str(out), "--width", "4", "--seed", "1"]
    )
    named = tables.format(tmp_path)
    assert f"next: sayso prepare --train {tmp_path}/train.txt {named} --vectors {out} --out store\n" in result.stderr


def test_figures_are_printed_as_json(tmp_path):
    words = ["train", str(corpus(tmp_path)), "--out", str(tmp_path / "v"), "--width", "4", "--seed", "1", "--json"]
    figures = json.loads(CliRunner().invoke(vectors, words).stdout)
    assert figures == {"words": 26, "sentences": 20, "seed": 1}


def test_a_random_seed_is_printed(tmp_path):
    result = CliRunner().invoke(vectors, ["train", str(corpus(tmp_path)), "--out", str(tmp_path / "v"), "--width", "4"])
    assert result.stderr.startswith("seed ")


def test_standard_input_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="standard input"):
        CliRunner().invoke(vectors, ["train", "-", "--out", str(tmp_path / "v")], catch_exceptions=False)


SMALL = ["--width", "4", "--epochs", "1", "--seed", "1", "--device", "cpu"]


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    path = tmp_path / "kg.tsv"
    path.write_text("".join(f"p{i}\tborn_in\tc{i % 3}\nc{i % 3}\thome_of\tp{i}\n" for i in range(30)))
    return path


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "test.txt"
    path.write_text("p4\tc1\tada\tlondon\tNA\tada saw london\t###END###\n")
    return path


def run(*arguments: object):
    return CliRunner().invoke(entities, ["train", *map(str, arguments), *SMALL], catch_exceptions=False)


def test_train_writes_a_vector_for_each_entity_and_prints_the_rank(tmp_path, triples):
    result = run(triples, "--out", tmp_path / "e.bin")
    ids, matrix = read_entity_vectors(tmp_path / "e.bin")
    assert len(ids) == 33
    assert matrix.shape == (33, 4)
    assert "33 entities; filtered MRR 0." in result.stdout
    assert f"to use them, add --entity-vectors {tmp_path / 'e.bin'} to `sayso prepare`" in result.stderr
    assert "no --exclude" in result.stderr


def test_figures_of_entity_vectors_are_printed_as_json(tmp_path, triples):
    figures = json.loads(run(triples, "--out", tmp_path / "e.bin", "--json").stdout)
    assert (figures["entities"], figures["seed"], figures["best_epoch"]) == (33, 1, 1)
    assert 0 < figures["held_out_mrr"] <= 1


def test_facts_of_test_pairs_are_refused_in_either_direction(tmp_path, triples, sentences):
    with pytest.raises(LeakageError, match="2 facts link an excluded pair"):
        run(triples, "--out", tmp_path / "e", "--exclude", sentences)
    assert not (tmp_path / "e").exists()


def test_drop_leaves_out_facts_of_excluded_pairs_and_counts_them(tmp_path, triples, sentences):
    result = run(triples, "--out", tmp_path / "e", "--exclude", sentences, "--drop")
    assert "left out 2 facts about the 1 excluded pairs" in result.stderr
    assert "p4" not in read_entity_vectors(tmp_path / "e")[0]


def test_ids_that_the_file_cannot_represent_are_refused_before_training(tmp_path):
    path = tmp_path / "kg.tsv"
    path.write_text("New York\tin\tUSA\n")
    with pytest.raises(BadInputError, match=r"'New York' .* white space"):
        run(path, "--out", tmp_path / "e")


def test_a_missing_folder_is_an_error_before_training(tmp_path, triples):
    with pytest.raises(UserError, match="does not exist; create it first"):
        run(triples, "--out", tmp_path / "absent" / "e")


def test_a_line_that_is_not_a_fact_is_named(tmp_path):
    path = tmp_path / "kg.tsv"
    path.write_text("a\tr\tb\na\tr\n")
    with pytest.raises(BadInputError, match=r"kg\.tsv:2: expected 3 columns .*, got 2"):
        run(path, "--out", tmp_path / "e")


def test_facts_of_a_stores_validation_pairs_are_left_out_and_counted(tmp_path, triples, sentences):
    train = tmp_path / "train.txt"
    train.write_text("".join(f"p{i}\tc{i % 3}\ta{i}\tb\tNA\ta{i} saw b\t###END###\n" for i in range(10, 30)))
    inputs = Inputs(train=train, test=sentences)
    prepare(inputs, PrepareSettings(validation_share=0.25), tmp_path / "store", lambda *_: None)
    words = ("--out", tmp_path / "e", "--exclude-store", tmp_path / "store")
    with pytest.raises(LeakageError, match="2 facts link an excluded pair"):
        run(triples, *words)
    result = run(triples, *words, "--drop", "--json")
    assert json.loads(result.stdout)["facts_left_out"] == {"test": 2, "validation": 10}
    assert "left out 10 facts about the 5 validation pairs" in result.stderr
