import pytest
import torch

from sayso.model.position import PositionEmbedding
from sayso.train.gpu.prepared import _below_each_other, distance_rows
from toy_batch import make_sentences


@pytest.mark.parametrize("form", ["shared_unsigned", "two_signed"])
def test_a_distance_has_the_same_row_as_when_it_is_looked_up(form: str) -> None:
    position = PositionEmbedding(form, 3, 30, torch.Generator().manual_seed(1))
    sentences = make_sentences([12, 7, 30])
    rows = position.rows(sentences)
    offset = 0 if form == "shared_unsigned" else len(position.table_QP) // 2
    assert torch.equal(distance_rows(position, sentences.head_distance_T), rows.head_T.int())
    assert torch.equal(distance_rows(position, sentences.tail_distance_T) + offset, rows.tail_T.int())


def test_filters_that_lie_one_after_the_other_are_not_copied() -> None:
    memory = torch.arange(60.0)
    weights = [memory[:24].view(2, 3, 4), memory[24:].view(3, 3, 4)]
    joined = _below_each_other(weights)
    assert joined.data_ptr() == memory.data_ptr()
    apart = _below_each_other([weight.clone() for weight in weights])
    assert torch.equal(joined, apart)
    assert torch.equal(joined, memory.view(15, 4))
