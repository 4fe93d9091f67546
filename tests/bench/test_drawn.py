"""Random bags still fit the code that the benchmarks measure."""

import numpy as np
import torch

import gpu_training
from drawn import draw_table, make_extractor, make_part, make_store
from reference.no_padding import UnpaddedModel
from sayso.store.store import Store
from sayso.train.data import RunData
from sayso.train.epoch import EpochPlan
from sayso.train.gpu.captured import pack
from sayso.train.gpu.padded import Capacity, pad_epoch
from sayso.train.gpu.tokens import shared_space
from training import compare, config_for


def test_a_drawn_store_trains_like_the_reference(tmp_path) -> None:
    make_store(tmp_path / "store", draw_table(30))
    data = RunData(Store(tmp_path / "store"), config_for("attention"))
    assert max(compare(make_extractor("attention"), data, UnpaddedModel)) < 1e-4


def test_drawn_bags_can_be_laid_out_for_captured_steps() -> None:
    part = make_part(draw_table(400))
    data = gpu_training.drawn_data(part, gpu_training.config_of("bf16"))
    space = shared_space([part.inputs], torch.device("cpu"))
    padded = pad_epoch(EpochPlan(data, 1), space, Capacity(), len(data.word_VW))
    word_Y = pack(padded.fields).cut(torch.tensor([0]))["word_Y"]
    first = np.concatenate([part.inputs.tokens.row(int(row)) for row in first_rows(data)])
    assert word_Y[word_Y > 0].tolist() == sorted(set(first.tolist()))


def first_rows(data: RunData) -> np.ndarray:
    """Return the sentences of the first batch."""
    plan = EpochPlan(data, 1)
    return plan.kept.take(plan.order[: data.config.train.batch_bags]).value
