from pathlib import Path

import numpy as np
import pytest

from sayso.store.store import Store
from sayso.store.withheld import concatenated, folds_of, held_out_pairs, withhold
from store.test_folds import lines_of, made


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
    whole = concatenated([first, second])
    assert whole.first_B1.tolist() == table.first_B1.tolist()
    assert whole.tokens.value.tolist() == table.tokens.value.tolist()
    assert whole.relations.start.tolist() == table.relations.start.tolist()
    assert Path(store.folder).is_dir()
