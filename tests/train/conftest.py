from pathlib import Path

import pytest

from sayso.records import Mark
from toy import make_sentence
from toy_batch import torch_threads
from train.toy_run import invented_store, store_of


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A store that every variant can be trained on."""
    return invented_store(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def marked(tmp_path_factory) -> Path:
    """A store with twelve bags of six sentences; in four of them, one sentence is a rationale and four irrelevant."""
    sentences = [
        make_sentence(f"h{bag} met t{bag} word{bag}x{i}", f"h{bag}", f"t{bag}", ("r",))
        for bag in range(12)
        for i in range(6)
    ]
    labels = ["rationale", "irrelevant", "irrelevant", "irrelevant", "irrelevant", "unsure"]
    marks = [
        Mark(f"h{bag}", f"t{bag}", "r", f"h{bag} met t{bag} word{bag}x{i}", labels[i])
        for bag in range(4)
        for i in range(6)
    ]
    return store_of(tmp_path_factory.mktemp("marked"), sentences, validation_share=0.0, marks=marks)


@pytest.fixture(autouse=True)
def one_thread():
    """Tests run in parallel, and toy batches are too small to split among threads."""
    with torch_threads(1):
        yield
