from pathlib import Path

from sayso.train.remarks import remarks_on
from toy import make_sentence
from train.toy_run import run_data, store_of, toy_config


def remarks(store: Path, **settings) -> str:
    return "\n".join(remarks_on(run_data(store, toy_config(**settings)), "cpu"))


def test_a_relation_without_a_training_bag_is_named(tmp_path: Path) -> None:
    sentences = [make_sentence(f"h{i} t{i}", f"h{i}", f"t{i}", ("r",)) for i in range(20)]
    said = remarks(store_of(tmp_path, sentences, relations=("r", "never")), mentions="words")
    assert "1 of 2 relations have no training bag and cannot be learned: never" in said
    assert "random ones of width 8" in said


def test_entities_without_a_vector_are_counted_where_vectors_are_used(store: Path) -> None:
    assert "vector" not in remarks(store)
    said = remarks(store, entities=True)
    assert "training entities have no graph vector: zeros stand in for it" in said


def test_types_that_most_entities_lack_are_said_where_they_are_used(tmp_path: Path) -> None:
    sentences = [make_sentence(f"h{i} t{i}", f"h{i}", f"t{i}", ("r",)) for i in range(20)]
    store = store_of(tmp_path, sentences, types={"h1": ["/person"], "t1": ["/place"]})
    said = "38 of 40 training entities have no type: /other stands in for it"
    assert said.removeprefix("38 of 40") in remarks(store)
    assert said.removeprefix("38 of 40") not in remarks(store, mentions="words", distractor=0.0)


def test_a_precision_for_gpus_is_remarked_on_a_cpu(store: Path) -> None:
    assert "train.precision=tf32 is for GPUs: this run computes in float32" in remarks(store, precision="tf32")
    assert "precision" not in "\n".join(remarks_on(run_data(store, toy_config(precision="tf32")), "cuda"))
