import torch

from sayso.model.embedding import DistinctRows, PositionRows
from sayso.model.kernels.base import Windows
from sayso.model.window import flat, window_max
from toy_batch import make_sentences


def test_the_taps_of_narrow_filters_come_first() -> None:
    narrow, wide = torch.tensor([[[1.0]], [[2.0]]]), torch.tensor([[[3.0]], [[4.0]], [[5.0]]])
    assert flat([narrow, wide]).tolist() == [[1], [2], [3], [4], [5]]


def test_a_tie_gives_its_gradient_to_the_first_window() -> None:
    table_QP = torch.tensor([[1.0], [3.0], [3.0], [2.0]], requires_grad=True)
    distance_T, same_T = torch.arange(4), torch.zeros(4, dtype=torch.long)
    tokens = DistinctRows(row_YW=torch.zeros(1, 1), index_T=same_T, num_learned=0)
    positions = PositionRows(table_QP=table_QP, head_T=distance_T, tail_T=same_T)
    weight_AD = torch.tensor([[0.0, 1.0, 0.0]])
    windows = Windows(widths=(1,), num_filters=1)
    peak_GF = window_max(tokens, positions, make_sentences([4]), weight_AD, windows)
    peak_GF.sum().backward()
    assert peak_GF.tolist() == [[3.0]]
    assert table_QP.grad is not None
    assert table_QP.grad.flatten().tolist() == [0, 1, 0, 0]
