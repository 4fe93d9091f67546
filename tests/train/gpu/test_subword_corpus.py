from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sayso.model.encoders.transformer import TransformerConfig, TransformerEncoder
from sayso.model.extractor import Extractor
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.epoch import EpochPlan, ProcessShard
from sayso.train.gpu.subword_corpus import PaddedRow, StepSize, SubwordCorpus, size_of
from sayso.train.objective import Objective
from toy_encoder import write_encoder
from train.toy_run import run_data, toy_config

LOSSES = {
    "plain": {},
    "relation labels": {"direct_task": "relations"},
    "marks": {"mark_score": 1.0, "mark_ranking": 3.0},
    "missing facts": {"known_share": 0.7, "compatible_na": 0.5},
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


def config_with(encoder: Path, aggregator: str, mentions: str = "words", reading: str = "markers", **loss) -> RunConfig:
    plain = toy_config(aggregator, mentions, 0.0)
    transformer = TransformerConfig(folder=str(encoder), output_width=8, max_length=48, dropout=0.0, reading=reading)
    return replace(plain, model=replace(plain.model, encoder=transformer), loss=replace(plain.loss, **loss))


def objective_of(data: RunData) -> Objective:
    extractor = Extractor(data.config.model, data.tables(), data.config.seed).double()
    num_labels = len(data.store.direct_labels) if data.config.loss.needs_labels else 0
    return Objective(extractor, data.config.loss, num_labels, data.config.seed).double()


@pytest.mark.parametrize("aggregator", ["attention", "noisy_or", "direct"])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("reading", ["markers", "spans"])
def test_a_padded_row_has_the_loss_and_gradients_of_the_step(
    encoder: Path, store: Path, marked: Path, monkeypatch: pytest.MonkeyPatch, aggregator: str, loss: dict, reading: str
) -> None:
    is_marked = "mark_score" in loss
    if is_marked and aggregator == "direct":
        loss = loss | {"sentence": 0.0, "direct_sentences": 0}
    data = run_data(marked if is_marked else store, config_with(encoder, aggregator, reading=reading, **loss))
    objective = objective_of(data).eval()
    monkeypatch.setattr(TransformerEncoder, "_packs", True)
    corpus = SubwordCorpus.of(objective.extractor.encoder, inputs_of(data))
    plain, numbered = EpochPlan(data, 1), EpochPlan(data, 1, is_numbered=True)
    bags, parameters = plain.order[-11:], [each for each in objective.parameters() if each.requires_grad]
    for shard in (ProcessShard(0, 2), ProcessShard(1, 2)):
        expected = objective(plain.batch(bags, 0, shard), len(bags), plain.num_targets(bags, 0))
        batch = numbered.batch(bags, 0, shard)
        reads = corpus.take(batch.sentences.token_T.numpy())
        size = StepSize(*(2 * each + 3 for each in size_of(batch, reads, 16)))
        row = PaddedRow(size, num_bags=16, num_relations=data.num_relations, longest=48)
        row.fill(batch, reads, len(bags), plain.num_targets(bags, 0), padding=0)
        for name, field in row.fields.items():
            row.fields[name] = field.double() if field.is_floating_point() else field
        sizes = (row.fields["num_bags"][0], row.fields["num_targets"][0])
        found = objective.terms(objective.extractor.encoder.read(row.reads), row.batch, *sizes)
        assert list(found) == list(expected)
        for name in expected:
            torch.testing.assert_close(found[name], expected[name], atol=1e-6, rtol=1e-6, check_dtype=False)
        gradients = [
            torch.autograd.grad(sum(each.values()), parameters, allow_unused=True) for each in (found, expected)
        ]
        for mine, theirs in zip(*gradients, strict=True):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-5)


def inputs_of(data: RunData):
    from sayso.features.mentions import concatenate

    return concatenate([data.train.inputs] + ([data.direct.inputs] if data.direct else []))


def test_a_level_is_the_lowest_that_holds_a_step_and_its_capacity_holds_it() -> None:
    most = StepSize(subwords=1000, needed=300, sentences=50, further=9, marks=4, pairs=2, labels=1)
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = StepSize(*(int(rng.integers(0, each + 1)) for each in most))
        level = most.level(step, 8)
        assert most.at_level(level, 8).holds(step)
        shares = [8 * theirs / mine for mine, theirs in zip(most[:3], step[:3], strict=True)]
        assert level == 1 or max(shares) > level - 1
    assert most.at_level(8, 8) == most


def test_what_does_not_fit_enlarges_only_what_is_too_small() -> None:
    most = StepSize(subwords=1000, needed=300, sentences=50)
    larger = most.enlarged(StepSize(subwords=1500, needed=10, sentences=50, marks=7), 1.1)
    assert larger == StepSize(subwords=1664, needed=300, sentences=50, marks=64)
    assert not most.holds(StepSize(subwords=1001))
