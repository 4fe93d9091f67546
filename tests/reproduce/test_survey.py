import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from resealed import rewrite
from sayso.reproduce.survey import survey_store
from sayso.store.store import MANIFEST, Store


def changed(store: Path, folder: Path, num_sentences: int, **other: Any) -> Store:
    """Return the store as if its training file had had so many sentences."""
    shutil.copytree(store, folder / "store")
    path = folder / "store" / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["inputs"]["train"]["sentences"] = num_sentences
    for name, value in other.items():
        manifest[name] |= value
    rewrite(path, **manifest)
    return Store(folder / "store")


@pytest.mark.parametrize(
    ("num_sentences", "known"),
    [
        (522_611, "the FB-NYT release that the paper's Table 1 counts 90 % of"),
        (570_088, "the FB-NYT release whose training file holds test pairs"),
        (60_823, "not the paper's release by its counts"),
    ],
)
def test_a_release_is_known_by_its_number_of_sentences(
    store: Path, tmp_path: Path, num_sentences: int, known: str
) -> None:
    assert survey_store(changed(store, tmp_path, num_sentences))[0].endswith(known)


@pytest.mark.parametrize(("leak", "said"), [("allow", "figures will be TOO GOOD"), ("drop", "and were left out")])
def test_test_pairs_in_training_are_said(store: Path, tmp_path: Path, leak: str, said: str) -> None:
    lines = survey_store(changed(store, tmp_path, 9, leakage={"test_pairs_in_train": 7}, settings={"leak": leak}))
    assert any(line.startswith("leakage: 7 test pairs") and said in line for line in lines)


def test_vectors_types_direct_sentences_and_marks_are_counted(store: Path) -> None:
    assert survey_store(Store(store))[1:] == [
        "word vectors: width 8",
        "entity vectors: width name 8 + graph 4",
        "entity types: 3",
        "directly supervised sentences: 12",
        "marks by annotator not named: 18 on facts of the test part",
    ]
