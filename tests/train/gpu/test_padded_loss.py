from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sayso.model.embedding import PositionEmbedding
from sayso.model.extractor import Extractor
from sayso.model.kernels.base import Codes
from sayso.train.config import RunConfig, config_of
from sayso.train.data import RunData
from sayso.train.epoch import EpochPlan, steps_of_epoch
from sayso.train.gpu.captured import pack
from sayso.train.gpu.encoder_kernels import Draws
from sayso.train.gpu.padded import Capacity, PaddedEpoch, pad_epoch
from sayso.train.gpu.padded_loss import PaddedLoss, _stacked
from sayso.train.gpu.tokens import TokenSpace
from sayso.train.objective import Objective
from toy_batch import make_sentences
from train.toy_run import run_data, toy_config


@pytest.mark.parametrize("form", ["shared_unsigned", "two_signed"])
def test_a_distance_has_the_same_row_as_when_it_is_looked_up(form: str) -> None:
    position = PositionEmbedding(form, 3, 30, torch.Generator().manual_seed(1))
    sentences = make_sentences([12, 7, 30])
    rows = position.rows(sentences)
    offset = 0 if form == "shared_unsigned" else len(position.table_QP) // 2
    assert torch.equal(position.row_of(sentences.head_distance_T.int()), rows.head_T.int())
    assert torch.equal(position.row_of(sentences.tail_distance_T.int()) + offset, rows.tail_T.int())


def test_contiguous_filters_are_not_copied() -> None:
    memory = torch.arange(60.0)
    weights = [memory[:24].view(2, 3, 4), memory[24:].view(3, 3, 4)]
    joined = _stacked(weights)
    assert joined.data_ptr() == memory.data_ptr()
    apart = _stacked([weight.clone() for weight in weights])
    assert torch.equal(joined, apart)
    assert torch.equal(joined, memory.view(15, 4))


VARIANTS = [
    (aggregator, mentions, distractor, entities)
    for aggregator in ("attention", "direct")
    for mentions in ("words", "type", "type_and_words")
    for distractor in (0.0, 1.0)
    for entities in (False, True)
]
NOTHING_DROPPED = Draws(torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), 0)


def padded(data: RunData, epoch: int) -> PaddedEpoch:
    parts = [data.train.inputs] + ([data.direct.inputs] if data.direct else [])
    space = TokenSpace.of(parts, torch.device("cpu"))
    return pad_epoch(EpochPlan(data, epoch), space, Capacity(), len(data.word_VW))


def codes_of_step(steps: PaddedEpoch, fields: dict[str, Tensor], extractor: Extractor) -> Codes:
    """Return the codes of one step alone, as CPU kernels require."""
    start_S1 = fields["start_S1"]
    tokens = slice(int(start_S1[0]), int(start_S1[-1]))
    _, head_T, tail_T, piece_T = (column[tokens] for column in steps.tokens.columns)
    position = extractor.encoder.convolution.position
    return Codes(
        word_T=steps.word_T[tokens],
        head_T=position.row_of(head_T.int()),
        tail_T=position.row_of(tail_T.int()),
        piece_T=piece_T.int(),
        start_S1=start_S1 - start_S1[0],
    )


def gradients(terms: dict[str, Tensor], extractor: Extractor) -> Tensor:
    found = torch.autograd.grad(
        sum(terms.values()), [p for p in extractor.parameters() if p.requires_grad], allow_unused=True
    )
    return torch.cat([g.flatten() for g in found if g is not None])


def assert_same_steps(config: RunConfig, store, epoch: int = 1) -> None:
    data = run_data(store, config)
    extractor = Extractor(config.model, data.tables(), 13).train()
    steps, plain = padded(data, epoch), list(steps_of_epoch(data, epoch))
    packed = pack(steps.fields)
    assert steps.num_bags_U == [step.num_bags for step in plain]
    for number in (0, len(plain) - 1):
        step = plain[number]
        expected = Objective(extractor, config.loss)(step.batch, step.num_bags, step.num_targets)
        fields = packed.cut(torch.tensor([number]))
        loss = PaddedLoss(extractor, config.loss, torch.float32)
        found = loss.terms(fields, codes_of_step(steps, fields, extractor), NOTHING_DROPPED)
        assert {name: value.item() for name, value in found.items()} == pytest.approx(
            {name: value.item() for name, value in expected.items()}, rel=2e-5
        )
        torch.testing.assert_close(gradients(found, extractor), gradients(expected, extractor), rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize(("aggregator", "mentions", "distractor", "entities"), VARIANTS)
def test_padding_changes_neither_loss_nor_gradient(store, aggregator, mentions, distractor, entities) -> None:
    assert_same_steps(toy_config(aggregator, mentions, distractor, entities), store)


def test_the_piecewise_encoder_is_padded_as_well(store) -> None:
    config = toy_config()
    table = config.to_table()
    table["model"]["encoder"] = {"kind": "pcnn", "pcnn": {"num_filters": 5, "output_width": 6, "dropout": 0.0}}
    assert_same_steps(config_of(table), store)


@pytest.mark.parametrize("measure", ["positive_part", "saliency"])
def test_every_measure_of_distractors_is_padded(store, measure) -> None:
    config = toy_config()
    assert_same_steps(replace(config, loss=replace(config.loss, distractor_measure=measure)), store, epoch=2)


def test_a_batch_larger_than_the_part_is_one_step_with_missing_bags(store) -> None:
    assert_same_steps(toy_config("direct", batch_bags=1000), store)


def test_sentences_of_one_token_are_read(store) -> None:
    config = toy_config()
    table = config.to_table()
    table["model"]["encoder"]["cnn"]["widths"] = [60, 90]
    assert_same_steps(config_of(table), store)
