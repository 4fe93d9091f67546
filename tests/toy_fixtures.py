"""Fixtures of runs that are trained and evaluated on the toy corpus, for the folders whose conftest imports them."""

from pathlib import Path

import pytest

from sayso.evaluate.evaluation import Evaluation, EvaluationSettings, evaluate_run
from sayso.explain.trained_run import TrainedRun, open_runs
from sayso.model.aggregators.direct import DirectConfig
from sayso.store.marks import marks_of_store
from sayso.store.store import Store
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(make_marked_store(tmp_path_factory.mktemp("marked")))


@pytest.fixture(scope="session")
def runs(store: Store, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    configs = {"attention": toy_config("type"), "direct": toy_config(aggregator=DirectConfig(hidden_width=4))}
    return [make_run(config, store.folder, folder / name) for name, config in configs.items()]


@pytest.fixture(scope="session")
def subjects(runs: list[Path], store: Store) -> list[TrainedRun]:
    return open_runs(runs, store, "test")


@pytest.fixture(scope="session")
def evaluations(subjects: list[TrainedRun], store: Store) -> list[Evaluation]:
    # A threshold that some of the barely trained models' probabilities reach and some do not.
    marks = marks_of_store(store, "test")
    found = []
    for subject in subjects:
        whole = evaluate_run(subject, marks, EvaluationSettings(threshold=1.0, num_resamples=20))
        middle = float(sorted(whole.explained.probability_F.tolist())[len(whole.explained.bag_F) // 2])
        settings = EvaluationSettings(threshold=middle, num_resamples=20, temperature=True)
        found.append(evaluate_run(subject, marks, settings))
    return found
