"""Every variant reads sentences: on wordings unseen in training it beats a baseline that reads names."""

from pathlib import Path

import numpy as np
import pytest

from command import sayso_process as sayso
from made_once import made_once
from names_only import has_unseen_wording, label_matrix, names_only_scores
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.checkpoint import find_model, load_model
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.predict import predict_logits
from sayso.store.store import Store
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.run import train

FOLDER = Path(__file__).parents[2] / "src" / "sayso" / "configs"
# A tiny encoder with random weights, as tests have it, has not learned to read.
CONFIGS = sorted(
    path for path in FOLDER.glob("*.toml") if not isinstance(load_config(path).model.encoder, TransformerConfig)
)
# Five large steps per bag reach more than eleven small ones: between 3.6 and 6.3 times the baseline.
SMALL = ["train.max_epochs=5", "train.batch_bags=64", "train.learning_rate=0.004"]


def run(*words: object) -> None:
    result = sayso(*words)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an invented corpus, vectors of its words and entities, and their store."""
    return made_once(tmp_path_factory, "unseen", make_store)


def make_store(folder: Path) -> None:
    corpus = folder / "corpus"
    run("invent", corpus, "--train-sentences", 6000, "--test-sentences", 3000, "--documents", 0)
    run("vectors", "train", corpus / "train.jsonl", "--out", folder / "words.bin", "--width", 50, "--seed", 13)
    test = corpus / "test.jsonl"
    graph = ("--exclude", test, "--width", 20, "--epochs", 3, "--seed", 13, "--device", "cpu")
    run("entities", "train", corpus / "triples.tsv", "--out", folder / "entities.bin", *graph)
    files = ("--relations", corpus / "relations.tsv", "--types", corpus / "types.json")
    files += ("--direct", corpus / "direct.txt", "--vectors", folder / "words.bin")
    files += ("--entity-vectors", folder / "entities.bin", "--out", folder / "store")
    run("prepare", "--train", corpus / "train.jsonl", "--test", test, *files)


@pytest.fixture(scope="session")
def baseline(folder: Path) -> float:
    """Return the names-only average precision on bags of unseen wording."""
    return precision_on_unseen(folder, names_only_scores(Store(folder / "store")))


def precision_on_unseen(folder: Path, score_BR: np.ndarray) -> float:
    store = Store(folder / "store")
    is_unseen_B = has_unseen_wording(store, folder / "corpus")
    label_BR = label_matrix(store.part("test"), len(store.relations))
    assert label_BR[is_unseen_B].sum() > 150
    curve = precision_recall_curve(score_BR[is_unseen_B].ravel(), label_BR[is_unseen_B].ravel())
    return average_precision(curve)


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_average_precision_is_three_times_that_of_names(
    folder: Path, baseline: float, tmp_path: Path, path: Path
) -> None:
    config = load_config(path, SMALL)
    train(config, folder / "store", tmp_path / "run", "cpu")
    extractor = load_model(find_model(tmp_path / "run")).extractor
    logit_BR = predict_logits(extractor, RunData(Store(folder / "store"), config).part("test"))
    reached = precision_on_unseen(folder, logit_BR)
    print(f"{config.variant}: {reached:.3f} against {baseline:.3f}")
    assert reached >= 3 * baseline
