from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from sayso.features.batch import BagBatch
from sayso.model.extractor import Extractor
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.epoch import ProcessShard, TrainStep, num_steps, steps_of_epoch
from sayso.train.objective import Objective
from toy import make_sentence
from train.toy_run import run_data, store_of, toy_config, with_labels

CAP = 4


@pytest.fixture(scope="module")
def large_bags(tmp_path_factory) -> Path:
    """A store with twelve bags, of 1 to 12 sentences each; every sentence has its own word."""
    sentences = [
        make_sentence(f"h{bag} met t{bag} word{bag}x{i}", f"h{bag}", f"t{bag}", ("r",) if bag % 2 else ())
        for bag in range(12)
        for i in range(bag + 1)
    ]
    return store_of(tmp_path_factory.mktemp("large"), sentences, validation_share=0.0)


def capped(store: Path, **loss: float) -> RunData:
    config = toy_config(mentions="words", distractor=1.0, batch_bags=5)
    data = replace(config.data, max_bag_sentences=CAP)
    return run_data(store, replace(config, data=data, loss=replace(config.loss, **loss)))


def texts(batch: BagBatch) -> list[tuple[int, ...]]:
    """Return the tokens of each sentence of a batch."""
    return [tuple(batch.sentences.token_T[a:b].tolist()) for a, b in pairwise(batch.sentences.start_S1.tolist())]


def own_texts(steps: list[TrainStep]) -> list[tuple[int, ...]]:
    return [text for step in steps for text in texts(step.batch)[: step.batch.bags.num_sentences]]


def distractors(data: RunData, epoch: int) -> set[tuple[int, ...]]:
    """Return the distractors of an epoch, each with the pair it was drawn for, over all batches."""
    found = set()
    for step in steps_of_epoch(data, epoch):
        batch, first = step.batch, step.batch.bags.num_sentences
        relations = batch.distractor_relation_M.tolist()
        found |= {(k, *text) for k, text in zip(relations, texts(batch)[first:], strict=False)}
    return found


def test_every_bag_comes_once_in_the_epochs_own_order(store: Path) -> None:
    data = run_data(store, toy_config())
    orders = [np.concatenate([s.batch.bags.head_B.numpy() - 1 for s in steps_of_epoch(data, e)]) for e in (1, 2)]
    expected = sorted(data.train.table.head_B.tolist())
    assert [sorted(order.tolist()) for order in orders] == [expected, expected]
    assert not np.array_equal(orders[0], orders[1])


def test_a_large_bag_is_capped_and_its_sentences_are_drawn_again_each_epoch(large_bags: Path) -> None:
    data = capped(large_bags)
    size_B = data.train.table.size_B
    assert size_B.max() > CAP
    epochs = [list(steps_of_epoch(data, epoch)) for epoch in range(1, 31)]
    sizes = np.concatenate([torch.bincount(s.batch.bags.bag_N).numpy() for s in epochs[0]])
    assert sorted(sizes.tolist()) == sorted(np.minimum(size_B, CAP).tolist())
    assert set(own_texts(epochs[0])) != set(own_texts(epochs[1]))
    # Nothing is repeated within an epoch, and in the long run every sentence is read.
    assert len(set(own_texts(epochs[0]))) == len(own_texts(epochs[0]))
    everything = {text for steps in epochs for text in own_texts(steps)}
    assert len(everything) == data.train.table.num_sentences


def test_the_same_epoch_is_the_same_again(store: Path) -> None:
    first, again = (list(steps_of_epoch(run_data(store, toy_config("direct")), 3)) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert (a.num_bags, a.num_targets) == (b.num_bags, b.num_targets)
        assert torch.equal(a.batch.sentences.token_T, b.batch.sentences.token_T)
        assert torch.equal(a.batch.label_BR, b.batch.label_BR)


def test_distractors_are_drawn_again_each_epoch(store: Path) -> None:
    data = run_data(store, toy_config())
    assert distractors(data, 1) != distractors(data, 2)


def test_distractors_have_their_own_random_stream(store: Path, large_bags: Path) -> None:
    plain = run_data(store, toy_config("direct"))
    config = plain.config
    assert distractors(plain, 1) == distractors(
        run_data(store, replace(config, loss=replace(config.loss, direct_sentences=3))), 1
    )
    uncapped = run_data(large_bags, toy_config(mentions="words", batch_bags=5))
    assert distractors(capped(large_bags), 1) == distractors(uncapped, 1)


def test_each_label_has_one_distractor_in_its_own_bag(store: Path) -> None:
    for step in steps_of_epoch(run_data(store, toy_config()), 1):
        labels = {tuple(pair) for pair in step.batch.label_BR.nonzero().tolist()}
        drawn = list(zip(step.batch.distractor_bag_M.tolist(), step.batch.distractor_relation_M.tolist(), strict=True))
        assert len(drawn) == len(set(drawn))
        assert set(drawn) == labels


def test_targets_are_those_of_direct_sentences_and_of_bags_without_relation(store: Path) -> None:
    data = run_data(store, toy_config("direct"))
    for step in steps_of_epoch(data, 1):
        batch = step.batch
        num_own = batch.bags.num_sentences
        num_direct = data.config.loss.direct_sentences
        is_negative_N = ~batch.label_BR.any(1)[batch.bags.bag_N]
        assert torch.equal(batch.target_S[:num_own].isnan(), ~is_negative_N)
        assert (batch.target_S[:num_own][is_negative_N] == 0).all()
        assert batch.target_S[num_own:-num_direct].isnan().all()
        assert not batch.target_S[-num_direct:].isnan().any()
        assert step.num_targets == int((~batch.target_S.isnan()).sum())


def test_direct_sentences_take_turns(store: Path) -> None:
    data = run_data(store, toy_config("direct"))
    seen = [text for s in steps_of_epoch(data, 1) for text in texts(s.batch)[-data.config.loss.direct_sentences :]]
    inputs = data.direct.inputs
    times = {tuple(inputs.tokens.row(i).tolist()): 0 for i in range(len(inputs.tokens))}
    for text in seen:
        times[text] += 1
    assert len(seen) == num_steps(data) * data.config.loss.direct_sentences
    assert max(times.values()) - min(times.values()) <= 1


def with_marks(config: RunConfig, **loss: float) -> RunConfig:
    return replace(config, loss=replace(config.loss, mark_score=1.0, mark_ranking=3.0, **loss))


def test_every_batch_has_marked_bags_with_all_their_marked_sentences(marked: Path) -> None:
    plain = capped(marked, marked_bags=2)
    data = replace(plain, config=with_marks(plain.config))
    drawn = []
    for step in steps_of_epoch(data, 1):
        marks, batch_texts = step.batch.marks, texts(step.batch)
        assert marks.target_K.tolist().count(1.0) == 2
        assert marks.target_K.tolist().count(0.0) == 8 > 2 * (CAP - 1)
        assert marks.weight_K.sum().item() == pytest.approx(1.0)
        assert len(set(marks.sentence_K.tolist())) == 10
        drawn.append({batch_texts[row] for row in marks.sentence_K.tolist()})
        # The marked sentences come last and are in no bag.
        assert marks.sentence_K.min() == len(batch_texts) - 10 >= step.batch.bags.num_sentences
    assert len(set.union(*drawn)) == 20
    again = [step.batch.marks.sentence_K for step in steps_of_epoch(data, 1)]
    assert all(torch.equal(a, s.batch.marks.sentence_K) for a, s in zip(again, steps_of_epoch(data, 1), strict=True))
    assert [own_texts([step]) for step in steps_of_epoch(data, 1)] == [
        own_texts([step]) for step in steps_of_epoch(plain, 1)
    ]


def test_a_run_without_mark_terms_reads_no_marks(marked: Path) -> None:
    assert {step.batch.marks for step in steps_of_epoch(capped(marked), 1)} == {None}


def test_marks_of_shards_add_up_to_the_whole_batch(marked: Path) -> None:
    assert_shards_add_up(run_data(marked, with_marks(toy_config(mentions="words", batch_bags=5))), 3)


@pytest.mark.parametrize("config", [toy_config(), toy_config("direct", batch_bags=31)], ids=["attention", "direct"])
def test_shards_add_up_to_the_whole_batch(store: Path, config: RunConfig) -> None:
    data = run_data(store, config)
    # More shards than the last batch has bags: some of its shards are empty.
    assert_shards_add_up(data, data.train.table.num_bags % config.train.batch_bags + 2)


@pytest.mark.parametrize("aggregator", ["attention", "direct"])
def test_relation_labels_of_shards_add_up_to_the_whole_batch(store: Path, aggregator: str) -> None:
    assert_shards_add_up(run_data(store, with_labels(toy_config(aggregator))), 11)


@pytest.mark.parametrize("weight", [0.2, 3.0])
def test_weights_of_pairs_without_relations_add_up_over_shards(store: Path, weight: float) -> None:
    config = toy_config()
    assert_shards_add_up(run_data(store, replace(config, loss=replace(config.loss, compatible_na=weight))), 5)


def test_only_pairs_without_relations_have_their_own_weight(store: Path) -> None:
    config = toy_config(mentions="words")
    assert all(step.batch.weight_BR is None for step in steps_of_epoch(run_data(store, config), 1))
    weighed = run_data(store, replace(config, loss=replace(config.loss, compatible_na=0.5)))
    batches = [step.batch for step in steps_of_epoch(weighed, 1)]
    is_weighed_BR = torch.cat([batch.weight_BR for batch in batches]) == 0.5
    is_positive_B = torch.cat([batch.label_BR for batch in batches]).any(1)
    assert is_weighed_BR.any()
    assert not is_weighed_BR[is_positive_B].any()


def test_each_directly_supervised_sentence_has_its_own_label_with_its_mentions_in_text_order(store: Path) -> None:
    data = run_data(store, with_labels(toy_config()))
    table, inputs = data.direct.table, data.direct.inputs
    own = {tuple(inputs.tokens.row(n).tolist()): int(table.label_N[n]) for n in range(table.num_sentences)}
    for step in steps_of_epoch(data, 1):
        labels, all_texts = step.batch.labels, texts(step.batch)
        assert float(labels.weight_L.sum()) == pytest.approx(1.0)
        for row, label in zip(labels.sentence_L.tolist(), labels.label_L.tolist(), strict=True):
            assert own[all_texts[row]] == label
    assert (
        table.head_spans.value[table.head_spans.start[:-1]] < table.tail_spans.value[table.tail_spans.start[:-1]]
    ).all()


def assert_shards_add_up(data: RunData, num: int) -> None:
    """Compare the first and the last batch of an epoch with the sum of their shards."""
    config = data.config
    extractor = Extractor(config.model, data.tables(), 13)
    objective = Objective(extractor, config.loss, len(data.store.direct_labels)).double()
    whole = list(steps_of_epoch(data, 1))
    shards = [list(steps_of_epoch(data, 1, ProcessShard(rank, num))) for rank in range(num)]
    assert {len(steps) for steps in shards} == {len(whole)}
    for number in (0, -1):
        expected, gradient = loss_and_gradient(objective, [whole[number]])
        found, gradient_of_shards = loss_and_gradient(objective, [steps[number] for steps in shards])
        assert found == pytest.approx(expected, rel=1e-10)
        torch.testing.assert_close(gradient_of_shards, gradient, rtol=1e-8, atol=1e-10)


def loss_and_gradient(objective: Objective, steps: list[TrainStep]) -> tuple[dict[str, float], torch.Tensor]:
    """Return each term and the gradient, summed over the steps."""
    objective.zero_grad()
    sums: dict[str, float] = {}
    for step in steps:
        batch = replace(step.batch, label_BR=step.batch.label_BR.double(), target_S=step.batch.target_S.double())
        terms = objective(batch, step.num_bags, step.num_targets)
        sum(terms.values()).backward()
        sums = {name: sums.get(name, 0.0) + value.item() for name, value in terms.items()}
    return sums, torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None])
