from dataclasses import replace

import numpy as np
import pytest

from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.figures import calibration_figures, few_sentence_figures, logits_of_few
from sayso.features.batch import Part
from sayso.metrics.calibration import expected_calibration_error, reliability_curve
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.store.store import Store
from sayso.train.config import config_of
from sayso.train.data import RunData
from toy_evaluation import make_marked_store


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Extractor, Part]:
    data = RunData(Store(make_marked_store(tmp_path_factory.mktemp("few"))), config_of({}))
    return Extractor(data.config.model, data.tables(), seed=1), data.part("train")


def test_all_sentences_give_the_models_own_logits(asked: tuple[Extractor, Part]) -> None:
    extractor, part = asked
    large = part.table.size_B >= 2
    assert 0 < large.sum() < len(large)
    np.testing.assert_allclose(
        logits_of_few(extractor, part, 1)["all"], predict_logits(extractor, part)[large], rtol=1e-5, atol=1e-5
    )


def test_one_and_two_sentences_are_drawn_by_the_seed(asked: tuple[Extractor, Part]) -> None:
    first, again, other = (logits_of_few(*asked, seed) for seed in (1, 1, 2))
    for name in ("one", "two"):
        assert np.array_equal(first[name], again[name])
    assert not np.array_equal(first["one"], other["one"])
    # A bag of two sentences has no other two, whatever the seed.
    of_two = asked[1].table.size_B[asked[1].table.size_B >= 2] == 2
    np.testing.assert_allclose(first["two"][of_two], first["all"][of_two], rtol=1e-5, atol=1e-5)


def test_the_mean_is_that_of_the_three_precisions(asked: tuple[Extractor, Part]) -> None:
    for found in few_sentence_figures(*asked, seed=1).values():
        precisions = [found[f"precision_at_{num}"] for num in (100, 200, 300)]
        assert found["mean"] == pytest.approx(sum(precisions) / 3)
        assert found["num_bags"] == int((asked[1].table.size_B >= 2).sum())


def test_a_part_of_single_sentences_has_no_figures(asked: tuple[Extractor, Part]) -> None:
    extractor, part = asked
    alone = np.flatnonzero(part.table.size_B == 1)
    assert len(alone)
    single = Part(
        table=part.table.take_bags(alone),
        inputs=part.inputs.take(part.table.first_B1[:-1][alone]),
        num_relations=part.num_relations,
    )
    assert few_sentence_figures(extractor, single, seed=1) == {}


def test_the_calibration_error_is_given_before_and_after_calibration(evaluations: list[Evaluation]) -> None:
    run = evaluations[0]
    found = calibration_figures(run)
    assert list(found) == ["as_predicted", "before_calibration", "with_temperature"]
    for figures, logit_BR in (
        (found["as_predicted"], run.logit_BR),
        (found["before_calibration"], run.uncalibrated_BR),
    ):
        curve = reliability_curve(1 / (1 + np.exp(-np.asarray(logit_BR, np.float64))), run.subject.label_BR)
        assert figures["expected_calibration_error"] == pytest.approx(expected_calibration_error(curve))
        assert figures["interval"].low <= figures["interval"].high
    without = replace(run, uncalibrated_BR=None, temperature=None)
    assert list(calibration_figures(without)) == ["as_predicted"]
