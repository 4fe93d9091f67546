from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sayso import memory
from sayso.errors import BadInputError, UserError
from sayso.features.batch import Part
from sayso.records import Mark
from sayso.train.data import CompatibleFacts
from sayso.train.warning import warnings_about
from toy import make_sentence
from toy_table import Pair, table_of
from train.toy_run import run_data, store_of, toy_config, with_labels


def sentences(num_pairs: int = 20):
    return [make_sentence(f"h{i} knows t{i}", f"h{i}", f"t{i}", ("r",) if i % 2 else ()) for i in range(num_pairs)]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A store without vectors, types and direct sentences."""
    return store_of(tmp_path, sentences(), validation_share=0.3)


def test_a_store_without_direct_sentences_is_refused_where_they_are_needed(bare: Path) -> None:
    with pytest.raises(BadInputError, match="no directly supervised sentences, which DirectSup needs: prepare it with"):
        run_data(bare, toy_config("direct", "words", 0.0)).refuse_what_cannot_train()
    config = toy_config("direct", "words", 0.0)
    without = replace(config, loss=replace(config.loss, direct_sentences=0))
    run_data(bare, without).refuse_what_cannot_train()


def test_a_store_without_marks_on_training_sentences_is_refused_where_they_are_needed(bare: Path) -> None:
    config = toy_config("attention", "words", 0.0)
    for loss in ({"mark_score": 1.0}, {"mark_ranking": 1.0}):
        with pytest.raises(BadInputError, match=r"no marks on training sentences, which .* prepare it with marks, or"):
            run_data(bare, replace(config, loss=replace(config.loss, **loss))).refuse_what_cannot_train()


def test_a_ranking_without_a_fact_that_has_both_kinds_of_marks_is_refused(tmp_path: Path) -> None:
    marks = [Mark(f"h{i}", f"t{i}", "r", f"h{i} knows t{i}", "rationale") for i in range(20)]
    store, config = store_of(tmp_path, sentences(), marks=marks), toy_config("attention", "words", 0.0)
    with pytest.raises(BadInputError, match="no fact of the training part has both rationale and irrelevant sentences"):
        run_data(store, replace(config, loss=replace(config.loss, mark_ranking=1.0))).refuse_what_cannot_train()
    run_data(store, replace(config, loss=replace(config.loss, mark_score=1.0))).refuse_what_cannot_train()


@pytest.mark.parametrize(
    ("mentions", "distractor", "variant"),
    [("type", 0.0, "CNNs+ATT+F"), ("type_and_words", 0.0, "CNNs+ATT+FE"), ("words", 1.0, "CNNs+ATT+LD")],
)
def test_a_store_without_types_is_refused_where_they_are_needed(
    bare: Path, mentions: str, distractor: float, variant: str
) -> None:
    with pytest.raises(BadInputError) as refusal:
        run_data(bare, toy_config("attention", mentions, distractor)).refuse_what_cannot_train()
    assert f"no entity types, which {variant} needs: prepare it with types, or set" in str(refusal.value)
    run_data(bare, toy_config("attention", "words", 0.0)).refuse_what_cannot_train()


def test_a_store_without_entity_vectors_is_refused_where_they_are_needed(bare: Path) -> None:
    with pytest.raises(BadInputError, match=r"no entity vectors, which \+E needs: prepare it with entity_vectors"):
        run_data(bare, toy_config(entities=True)).tables()


def test_a_part_without_relations_is_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path, sentences(), validation_share=0.0)
    with pytest.raises(BadInputError, match="the validation part has no bag with a relation"):
        run_data(store, toy_config()).refuse_what_cannot_train()


def test_a_store_without_vectors_gets_random_ones_that_depend_on_the_seed_alone(bare: Path) -> None:
    first, again, other = (run_data(bare, toy_config(seed=seed)).word_VW for seed in (1, 1, 2))
    assert first.shape[1] == 8
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not first[0].any()


def test_random_vectors_that_do_not_fit_into_memory_are_refused(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000)
    with pytest.raises(UserError, match=r"random vectors of width 8 for [\d,]+ words need about .*data\.random_width"):
        _ = run_data(bare, toy_config()).word_VW


def test_relation_labels_are_refused_where_the_store_has_none(bare: Path, store: Path) -> None:
    config = with_labels(toy_config("attention", "words", 0.0))
    with pytest.raises(
        BadInputError, match=r'no directly supervised sentences, which loss.direct_task="relations" needs'
    ):
        run_data(bare, config).refuse_what_cannot_train()
    run_data(store, config).refuse_what_cannot_train()
    # As in a store that was made before labels were kept.
    old = run_data(store, config)
    table = old.direct.table
    unlabelled = replace(table, label_N=np.full_like(table.label_N, -1))
    old.__dict__["direct"] = replace(old.direct, table=unlabelled)
    old.store.__dict__["direct_labels"] = []
    with pytest.raises(BadInputError, match=r"have no relation labels, which .* needs: prepare again with"):
        old.refuse_what_cannot_train()


def test_sentences_without_a_relation_label_take_part_only_in_the_binary_task(store: Path) -> None:
    for aggregator in ("attention", "direct"):
        data = run_data(store, with_labels(toy_config(aggregator)))
        table = data.direct.table
        label_N = table.label_N.copy()
        label_N[3] = -1
        data.__dict__["direct"] = replace(data.direct, table=replace(table, label_N=label_N))
        assert (3 in data.direct_rows) == (aggregator == "direct")


def test_direct_sentences_without_a_label_are_left_out(store: Path) -> None:
    data = run_data(store, toy_config("direct"))
    table = data.direct.table
    expresses_N = table.expresses_N.copy()
    expresses_N[3] = np.nan
    data.__dict__["direct"] = replace(data.direct, table=replace(table, expresses_N=expresses_N))
    assert 3 not in data.direct_rows
    assert len(data.direct_rows) == table.num_sentences - 1


def warnings(store: Path, **settings) -> str:
    return "\n".join(warnings_about(run_data(store, toy_config(**settings)), torch.device("cpu")))


def test_a_relation_without_a_training_bag_is_named(tmp_path: Path) -> None:
    sentences = [make_sentence(f"h{i} t{i}", f"h{i}", f"t{i}", ("r",)) for i in range(20)]
    said = warnings(store_of(tmp_path, sentences, relations=("r", "never")), mentions="words")
    assert "1 of 2 relations have no training bag and cannot be learned: never" in said
    assert "using random ones of width 8" in said


def test_entities_without_a_vector_are_counted_where_vectors_are_used(store: Path) -> None:
    assert "vector" not in warnings(store)
    said = warnings(store, entities=True)
    assert "training entities have no graph vector: using zeros" in said


def test_types_that_most_entities_lack_are_a_warning_if_they_are_used(tmp_path: Path) -> None:
    sentences = [make_sentence(f"h{i} t{i}", f"h{i}", f"t{i}", ("r",)) for i in range(20)]
    store = store_of(tmp_path, sentences, types={"h1": ["/person"], "t1": ["/place"]})
    said = "38 of 40 training entities have no type: treating them as /other"
    assert said.removeprefix("38 of 40") in warnings(store)
    assert said.removeprefix("38 of 40") not in warnings(store, mentions="words", distractor=0.0)


def test_a_precision_for_gpus_is_a_warning_on_a_cpu(store: Path) -> None:
    assert "train.precision=tf32 applies only to GPUs: this run uses float32" in warnings(store, precision="tf32")
    assert "precision" not in "\n".join(
        warnings_about(run_data(store, toy_config(precision="tf32")), torch.device("cuda"))
    )


PERSON, PLACE = 1, 2
TYPE_E = np.array([PERSON, PLACE, PERSON, PLACE], np.int8)
BORN, IN, NEVER = 0, 1, 2


def compatible_weights(*pairs: Pair, weight: float = 0.25) -> list[list[float]]:
    part = Part(table=table_of(*pairs), inputs=None, num_relations=3)  # type: ignore[arg-type]
    return CompatibleFacts(part, TYPE_E, weight).weights(np.arange(len(pairs))).tolist()


def test_a_pair_without_relations_is_weighed_for_the_relations_of_pairs_with_the_same_types() -> None:
    found = compatible_weights(Pair(0, 1, (BORN,)), Pair(2, 3), Pair(1, 3, (IN,)), Pair(3, 1), Pair(3, 2))
    assert found[1] == [0.25, 1.0, 1.0]  # person, place
    assert found[3] == [1.0, 0.25, 1.0]  # place, place
    assert found[4] == [1.0, 1.0, 1.0]  # place, person: no relation has these types in this order


def test_pairs_with_a_relation_keep_their_weight() -> None:
    assert compatible_weights(Pair(0, 1, (BORN,)), Pair(2, 3, (IN,))) == [[1.0] * 3] * 2
