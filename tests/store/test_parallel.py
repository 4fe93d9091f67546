import filecmp
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sayso.engine import Engine
from sayso.errors import BadInputError, UserError
from sayso.store import parallel
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from toy_predictions import documented
from toy_run import corpus_lines


def out_of_order(function: Callable[[Any], Any], shards: Iterable[Any], /) -> Iterator[Any]:
    """Yield results out of order, like workers of different speeds."""
    results = [function(shard) for shard in shards]
    random.Random(2).shuffle(results)
    yield from results


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    lines = corpus_lines()
    far = "\t".join(("q1", "q2", "a", "b", "born", "a " + "x " * 30 + "b", "###END###"))
    (tmp_path / "train.txt").write_text("\n".join([*lines[:60], far, *lines[60:], *lines[:5]]) + "\n")
    known = [f"z1\tz{n}\tport_town1\tkaro{n}\tborn\tport_town1 knows karo{n} .\t###END###" for n in range(12)]
    (tmp_path / "test.txt").write_text("".join(f"{line}\n" for line in documented(known)))
    (tmp_path / "rest.txt").write_text("r1\tr2\tria\tport_town1\tNA\tria left port_town1 .\t###END###\n" * 2)
    decisions = [("l1", "capital", "t1", "rejected"), ("r1", "born", "r2", "accepted")]
    keys = ("head", "relation", "tail", "decision")
    lines = [json.dumps(dict(zip(keys, each, strict=True))) + "\n" for each in decisions]
    (tmp_path / "v.jsonl").write_text("".join(lines))
    return Inputs(
        train=tmp_path / "train.txt",
        test=tmp_path / "test.txt",
        rest=tmp_path / "rest.txt",
        decisions=(tmp_path / "v.jsonl",),
    )


def make(inputs: Inputs, out: Path, engine: Engine | None = None) -> dict[str, Any]:
    return prepare(inputs, PrepareSettings(max_tokens=20), out, lambda *_: None, engine=engine)


def test_a_store_read_in_pieces_is_the_store_read_at_one_go(
    inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PIECE_BYTES", 900)
    expected = make(inputs, tmp_path / "here")
    found = make(inputs, tmp_path / "elsewhere", out_of_order)
    assert found == expected
    assert expected["read"]["train"]["num_too_far_apart"] == 1
    store = Store(tmp_path / "elsewhere")
    assert {store.bag(store.part("test"), n).sentences[0].source.glued for n in range(12)} == {(3,)}
    assert expected["overruled"]["num_sentences_changed"] == 3 + 2
    names = [path.name for path in (tmp_path / "here").iterdir()]
    same, other, odd = filecmp.cmpfiles(tmp_path / "here", tmp_path / "elsewhere", names, shallow=False)
    assert (len(same), other, odd) == (len(names), [], [])


def test_bad_lines_are_named_by_their_place_in_the_file(
    inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PIECE_BYTES", 900)
    with inputs.train.open("a") as file:
        file.write("a\tb\n")
    with pytest.raises(
        BadInputError, match=r"train\.txt:151: expected 6 columns and ###END###, got 2 .*1 of 151 lines are bad"
    ):
        make(inputs, tmp_path / "elsewhere", out_of_order)


def test_standard_input_cannot_be_read_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="workers cannot read from a pipe"):
        make(Inputs(train=Path("-")), tmp_path / "store", out_of_order)


@pytest.mark.parametrize("engine", [None, out_of_order], ids=["here", "by workers"])
def test_some_shards_may_be_blank_but_not_all(inputs: Inputs, tmp_path: Path, engine: Engine | None) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "1").write_text("\n \n")
    (shards / "2").touch()
    with pytest.raises(BadInputError, match="shards: contains no sentences"):
        make(replace(inputs, train=shards, test=None), tmp_path / "store", engine)
    (shards / "3").write_text(inputs.train.read_text())
    manifest = make(replace(inputs, train=shards, test=None), tmp_path / "store", engine)
    assert manifest["read"]["train"]["num_sentences_read"] == 150 + 2
