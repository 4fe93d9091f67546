import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sayso.errors import BadInputError, UserError
from sayso.readers.jsonl import write
from sayso.store.folds import folds_of, held_out_pairs, pair_folds, withhold
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from sayso.store.table import BagTable
from toy import make_sentence


def lines_of(names: range, relation: str | None = "capital") -> str:
    """Return a line per pair, and one more that it shares with the next pair."""
    relations = () if relation is None else (relation,)
    sentences = []
    for n in names:
        for text in (f"head{n} rules tail{n}", f"head{n} and tail{n} are {n // 2}"):
            sentences.append(make_sentence(text, f"head{n}", f"tail{n}", relations=relations))
    return "".join(write(each) + "\n" for each in sentences)


def made(folder: Path, train: str, rest: str = "", **settings: int) -> Store:
    folder.mkdir()
    (folder / "train.jsonl").write_text(train)
    inputs = Inputs(train=folder / "train.jsonl")
    if rest:
        (folder / "rest.jsonl").write_text(rest)
        inputs = Inputs(train=folder / "train.jsonl", rest=folder / "rest.jsonl")
    prepare(inputs, PrepareSettings(**({"folds": 3} | settings)), folder / "store", lambda *_: None)
    return Store(folder / "store")


def folds_by_head(store: Store, part: str = "train") -> dict[str, int]:
    heads = [store.entities["id"][int(head)].as_py() for head in store.part(part).head_B]
    return dict(zip(heads, folds_of(store, part).fold_B.tolist(), strict=True))


def test_a_fold_depends_only_on_the_pair_and_the_seed(tmp_path: Path) -> None:
    few, many = made(tmp_path / "few", lines_of(range(30))), made(tmp_path / "many", lines_of(range(60)))
    before, after = folds_by_head(few), folds_by_head(many)
    assert before.items() <= after.items()
    assert set(after.values()) == {1, 2, 3}
    other = folds_by_head(made(tmp_path / "other", lines_of(range(60)), seed=14))
    assert other != after


def test_a_pair_and_its_reverse_are_in_one_fold_and_a_share_of_the_pairs_stays(tmp_path: Path) -> None:
    table = made(tmp_path / "a", lines_of(range(200))).part("train")
    ids = [f"e{n}" for n in range(400)]
    folds = pair_folds(table, ids, 5, 13, 0.25)
    turned = pair_folds(replace(table, head_B=table.tail_B, tail_B=table.head_B), ids, 5, 13, 0.25)
    assert (folds.fold_B == turned.fold_B).all()
    assert (folds.stays_B == turned.stays_B).all()
    assert 0.15 < folds.stays_B.mean() < 0.35
    assert pair_folds(table, ids, 5, 13, 1.0).stays_B.all()
    assert (np.bincount(folds.fold_B)[1:] > 20).all()


def test_no_pair_is_thrown_away_and_the_report_says_what_that_saves(tmp_path: Path) -> None:
    text = "head0 and tail0 and head1 and tail1"
    shared = [make_sentence(text, f"head{n}", f"tail{n}", relations=("capital",)) for n in range(2)]
    lines = "".join(write(each._replace(tokens=shared[0].tokens)) + "\n" for each in shared) + lines_of(range(2, 30))
    store = made(tmp_path / "a", lines)
    report = store.manifest["folds"]
    assert store.parts == ["train"]
    assert report["num"] == 3
    assert sum(report["num_facts"]) == store.manifest["parts"]["train"]["facts"] == 30
    assert store.manifest["parts"]["train"]["sentences"] == 58
    # Unless both pairs of the shared sentence are in one fold, two of three folds would lose it.
    is_apart = folds_by_head(store)["head0"] != folds_by_head(store)["head1"]
    assert report["num_sentences_shared"] == (1 if is_apart else 0)
    assert report["num_facts_only_in_shared"] == (1 if is_apart else 0)


def test_the_pairs_of_rest_are_unlabelled_pairs_of_the_folds(tmp_path: Path) -> None:
    store = made(tmp_path / "a", lines_of(range(30)), lines_of(range(25, 50), None))
    assert store.manifest["parts"]["rest"] == store.manifest["parts"]["rest"] | {"bags": 20, "facts": 0}
    assert store.manifest["folds"]["num_rest_pairs"] == 20
    assert set(folds_by_head(store, "rest").values()) == {1, 2, 3}


def test_pairs_with_a_new_entity_say_nothing_about_the_precision_of_other_facts(tmp_path: Path) -> None:
    new = lines_of(range(50, 60), None).replace('"id": "tail', '"id": "new:place/tail')
    store = made(tmp_path / "a", lines_of(range(30)), lines_of(range(30, 50), None) + new)
    assert "new:place/tail50" in new
    assert store.manifest["folds"]["num_rest_pairs"] == 20


def test_a_large_rest_is_sampled_by_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sayso.store.folds.num_rest_lines", lambda _: 2_000_000)
    store = made(tmp_path / "a", lines_of(range(30)), lines_of(range(30, 230), None))
    assert store.manifest["folds"]["rest_share"] == pytest.approx(0.1)
    assert 5 <= store.manifest["folds"]["num_rest_pairs"] <= 40


def test_a_store_without_folds_is_the_same_as_before_there_were_folds(tmp_path: Path) -> None:
    store = made(tmp_path / "a", lines_of(range(30)), folds=0)
    assert "folds" not in PrepareSettings().identity()
    assert store.num_folds == 0
    assert store.parts == ["train", "validation"]
    assert not list(store.folder.glob("*.folds.arrow"))


def test_one_fold_and_more_folds_than_facts_are_refused(tmp_path: Path) -> None:
    with pytest.raises((UserError, ValueError), match="folds is 1: choose at least 2"):
        PrepareSettings(folds=1)
    with pytest.raises(BadInputError, match="a fold has no facts: choose fewer"):
        made(tmp_path / "a", lines_of(range(4)), folds=50)


def test_a_fold_out_of_range_is_refused(tmp_path: Path) -> None:
    store = made(tmp_path / "a", lines_of(range(30)))
    manifest = json.loads((store.folder / "manifest.json").read_text())
    assert manifest["settings"]["folds"] == 3
    store.manifest["folds"]["num"] = 2
    with pytest.raises(BadInputError, match="a fold is out of range"):
        folds_of(store, "train")


def test_decided_pairs_of_rest_are_facts_of_the_folds_and_none_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(lines_of(range(30)))
    (tmp_path / "rest.jsonl").write_text(lines_of(range(30, 50), None))
    decision = {"head": "head30", "relation": "capital", "tail": "tail30", "decision": "accepted"}
    (tmp_path / "decisions.jsonl").write_text(json.dumps(decision) + "\n")
    inputs = Inputs(
        train=tmp_path / "train.jsonl", rest=tmp_path / "rest.jsonl", decisions=(tmp_path / "decisions.jsonl",)
    )
    manifest = prepare(inputs, PrepareSettings(folds=3), tmp_path / "store", lambda *_: None)
    assert sum(manifest["folds"]["num_facts"]) == 31
    assert manifest["folds"]["num_rest_pairs"] == 19
    assert manifest["overruled"]["num_facts_left_out_by_split"] == 0
    assert manifest["inputs"]["rest"]["sentences"] == 40


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("withheld") / "a"
    found = made(folder, lines_of(range(30)) + lines_of(range(30, 40), None), lines_of(range(40, 70), None))
    found.manifest["na_share"] = {"train": 0.5}
    return found


def test_the_facts_of_a_fold_become_na_pairs_of_which_only_some_stay(store: Store) -> None:
    table, folds = store.part("train"), folds_of(store, "train")
    folds = folds.take(np.arange(table.num_bags))
    folds.stays_B[:] = np.arange(table.num_bags) % 2 == 0
    left, bag_B, is_withheld_B = withhold(table, folds, 2)
    is_fact_of_fold_B = (folds.fold_B == 2) & table.is_positive_B
    assert bag_B.tolist() == np.flatnonzero(~is_fact_of_fold_B | folds.stays_B).tolist()
    assert is_withheld_B.tolist() == is_fact_of_fold_B[bag_B].tolist()
    assert not left.is_positive_B[is_withheld_B].any()
    assert left.is_positive_B[~is_withheld_B].tolist() == table.is_positive_B[bag_B][~is_withheld_B].tolist()
    assert left.size_B.tolist() == table.size_B[bag_B].tolist()
    assert 0 < is_withheld_B.sum() < is_fact_of_fold_B.sum()


def test_every_pair_is_held_out_in_exactly_one_fold_with_its_facts(store: Store) -> None:
    parts = [held_out_pairs(store, fold) for fold in (1, 2, 3)]
    pairs = [
        pair for part in parts for pair in zip(part.table.head_B.tolist(), part.table.tail_B.tolist(), strict=True)
    ]
    assert len(pairs) == len(set(pairs)) == 70
    assert sum(int(part.table.is_positive_B.sum()) for part in parts) == 30
    assert all((part.weight_B == 1).all() for part in parts)


def test_without_the_other_pairs_those_that_are_there_stand_for_them(store: Store, monkeypatch) -> None:
    monkeypatch.setitem(store.manifest, "parts", {"train": store.manifest["parts"]["train"]})
    part = held_out_pairs(store, 1)
    assert set(part.weight_B[part.table.is_positive_B].tolist()) == {1.0}
    assert set(part.weight_B[~part.table.is_positive_B].tolist()) == {2.0}


def test_tables_are_concatenated_bag_by_bag(store: Store) -> None:
    table = store.part("train")
    first, second = table.take_bags(np.arange(5)), table.take_bags(np.arange(5, table.num_bags))
    whole = BagTable.concatenate([first, second])
    assert whole.first_B1.tolist() == table.first_B1.tolist()
    assert whole.tokens.value.tolist() == table.tokens.value.tolist()
    assert whole.relations.start.tolist() == table.relations.start.tolist()
    assert Path(store.folder).is_dir()
