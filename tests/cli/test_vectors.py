import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sayso.cli.vectors import app
from sayso.embeddings.word2vec import read_word_vectors
from sayso.errors import BadInputError


def corpus(folder: Path) -> Path:
    path = folder / "train.txt"
    path.write_text(
        "".join(f"m.{i}\tm.c\tp{i}\tel_paso\tNA\tthen p{i} lived in el_paso\t###END###\n" for i in range(20))
    )
    return path


def test_train_writes_vectors_and_names_the_next_command(tmp_path):
    out = tmp_path / "words.bin"
    result = CliRunner().invoke(app, ["train", str(corpus(tmp_path)), "--out", str(out), "--width", "4", "--seed", "1"])
    assert result.exit_code == 0, result.output
    assert read_word_vectors(out).matrix.shape[1] == 4
    assert "20 distinct sentences" in result.stdout
    assert "epoch 5 of 5" in result.stderr
    following = f"sayso prepare --train {tmp_path}/train.txt --vectors {out} --out STORE"
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
    result = CliRunner().invoke(app, ["train", str(corpus(tmp_path)), "--out", str(out), "--width", "4", "--seed", "1"])
    named = tables.format(tmp_path)
    assert f"next: sayso prepare --train {tmp_path}/train.txt {named} --vectors {out} --out STORE\n" in result.stderr


def test_the_figures_may_be_had_as_json(tmp_path):
    words = ["train", str(corpus(tmp_path)), "--out", str(tmp_path / "v"), "--width", "4", "--seed", "1", "--json"]
    figures = json.loads(CliRunner().invoke(app, words).stdout)
    assert figures == {"words": 26, "sentences": 20, "seed": 1}


def test_a_drawn_seed_is_printed(tmp_path):
    result = CliRunner().invoke(app, ["train", str(corpus(tmp_path)), "--out", str(tmp_path / "v"), "--width", "4"])
    assert result.stderr.startswith("seed ")


def test_standard_input_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="standard input"):
        CliRunner().invoke(app, ["train", "-", "--out", str(tmp_path / "v")], catch_exceptions=False)
