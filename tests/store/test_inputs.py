import json
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers import jsonl
from sayso.store.inputs import Inputs, PrepareSettings, decisions_of
from sayso.store.prepare import prepare
from sayso.store.store import Store
from toy import make_sentence


def decisions(path: Path, *lines: tuple[str, str, str, str]) -> Path:
    keys = ("head", "relation", "tail", "decision")
    path.write_text("".join(json.dumps(dict(zip(keys, line, strict=True))) + "\n" for line in lines))
    return path


def test_rejected_facts_lose_their_label_and_accepted_ones_get_it(tmp_path: Path) -> None:
    path = decisions(tmp_path / "v", ("a", "born", "b", "rejected"), ("a", "lives", "b", "accepted"))
    overruled = decisions_of([path], None)
    train = [
        make_sentence("a loves b", "a", "b", ("born", "died")),
        make_sentence("a and b", "a", "b"),
        make_sentence("b and a", "b", "a", ("born",)),
    ]
    changed = list(overruled.applied(train, []))
    assert [sentence.relations for sentence in changed] == [("died", "lives"), ("lives",), ("born",)]
    assert overruled.report() == {
        "num_accepted": 1,
        "num_rejected": 1,
        "num_pairs_without_sentence": 0,
        "num_sentences_changed": 2,
    }


def test_the_last_decision_on_a_fact_counts(tmp_path: Path) -> None:
    path = decisions(tmp_path / "v", ("a", "born", "b", "rejected"), ("a", "born", "b", "accepted"))
    (sentence,) = decisions_of([path], None).applied([make_sentence("a b", "a", "b")], [])
    assert sentence.relations == ("born",)


def test_judged_pairs_that_training_lacks_come_from_the_rest_as_negatives(tmp_path: Path) -> None:
    def write(name: str, *sentences: object) -> Path:
        (tmp_path / name).write_text("".join(f"{jsonl.write(each)}\n" for each in sentences))
        return tmp_path / name

    train = write("train", make_sentence("a born b", "a", "b", ("born",)), make_sentence("c d", "c", "d", ("born",)))
    rest = write("rest", make_sentence("e not born f", "e", "f"), make_sentence("g h", "g", "h"))
    judged = decisions(tmp_path / "v", ("e", "born", "f", "rejected"), ("c", "born", "d", "rejected"))
    inputs = Inputs(train=train, rest=rest, decisions=(judged,))
    manifest = prepare(inputs, PrepareSettings(validation_share=0.0), tmp_path / "store", lambda *_: None)
    store = Store(tmp_path / "store")
    table = store.part("train")
    bags = [store.bag(table, index) for index in range(table.num_bags)]
    assert {(bag.head_id, bag.tail_id): set(bag.relations) for bag in bags} == {
        ("a", "b"): {"born"},
        ("c", "d"): set(),
        ("e", "f"): set(),
    }
    assert manifest["overruled"]["num_sentences_changed"] == 1
    assert "decisions" in manifest["inputs"], "the store's fingerprint names the decisions"


def test_a_relation_outside_the_inventory_is_refused(tmp_path: Path) -> None:
    path = decisions(tmp_path / "v", ("a", "borne", "b", "rejected"))
    with pytest.raises(BadInputError, match="relation 'borne' is not in the inventory"):
        decisions_of([path], {"born"})
