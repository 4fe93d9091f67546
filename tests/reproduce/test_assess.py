import json
from pathlib import Path

import numpy as np
import pytest

from reproduce.toy_results import make_result
from reproduce.toy_store import SMALL, make_store
from sayso.evaluate.figures import relation_figures
from sayso.metrics.precision_recall import average_precision, curve_estimates, precision_recall_curve, sort_scores
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.reproduce.assess import Assessor, mark_sets
from sayso.reproduce.paper import variant_config
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from sayso.train.data import RunData
from toy_evaluation import evaluation_lines, mark_line

CONFIG = variant_config("CNNs+ATT+F", SMALL)


def store_with_marks(folder: Path, marks: list[str]) -> Store:
    make_store(folder)
    (folder / "marks.jsonl").write_text("\n".join(marks) + "\n")
    files = Inputs(train=folder / "train.txt", test=folder / "test.txt", marks=(folder / "marks.jsonl",))
    prepare(files, PrepareSettings(validation_share=0.3), folder / "marked anew", lambda *_: None)
    return Store(folder / "marked anew")


def test_each_annotator_is_a_set_of_marks(tmp_path: Path) -> None:
    lines = evaluation_lines()
    marks = [mark_line(line, "rationale", by=name) for line, name in zip(lines, ("kim", "ana", "kim"), strict=False)]
    found = mark_sets(store_with_marks(tmp_path, marks))
    assert {name: len(each.by_sentence) for name, each in found.items()} == {"kim": 2, "ana": 1}


def test_with_many_annotators_the_majority_counts(tmp_path: Path) -> None:
    line = evaluation_lines()[0]
    labels = ["rationale", "irrelevant", "rationale", "irrelevant", "rationale"]
    marks = [mark_line(line, label, by=f"person {number}") for number, label in enumerate(labels)]
    found = mark_sets(store_with_marks(tmp_path, marks))
    assert {name: list(each.by_sentence.values()) for name, each in found.items()} == {"all annotators": [1]}


def test_a_mark_for_a_relation_that_the_pair_does_not_have_is_not_counted(tmp_path: Path) -> None:
    lines = [line for line in evaluation_lines() if line.split("\t")[4] == "capital"]
    marks = [mark_line(lines[0], "rationale"), mark_line(lines[1], "irrelevant", relation="born")]
    (found,) = mark_sets(store_with_marks(tmp_path, marks)).values()
    assert len(found.by_sentence) == 1


def test_without_marks_there_is_no_set(tmp_path: Path) -> None:
    assert mark_sets(Store(make_store(tmp_path, "marks"))) == {}


def test_the_figures_are_those_of_the_metrics(store: Path) -> None:
    opened = Store(store)
    data = RunData(opened, CONFIG)
    extractor = Extractor(CONFIG.model, data.tables(), seed=5)
    found = Assessor(opened, num_resamples=300).assess(extractor, CONFIG, make_result("CNNs+ATT", seed=5))
    part = data.part("test")
    label_BR = part.label_rows(np.arange(part.table.num_bags)).numpy()
    logit_BR = predict_logits(extractor, part)
    wanted = relation_figures(logit_BR, label_BR)
    assert found.test == json.loads(json.dumps(wanted))
    assert found.test["average_precision"] == average_precision(precision_recall_curve(logit_BR, label_BR))
    interval = curve_estimates(sort_scores(logit_BR, label_BR))["average_precision"].interval
    middle = np.quantile(found.resampled["average_precision"], [0.025, 0.975])
    assert middle == pytest.approx(interval, abs=0.06)
    assert len(found.curve) == 101
    (orders,) = found.orders.values()
    assert sum(orders.tuples_F) == 12
    assert all(
        abs(net) <= num for column in orders.net.values() for net, num in zip(column, orders.tuples_F, strict=True)
    )
