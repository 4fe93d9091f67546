import torch

from sayso.model.embedding import TokenRows
from sayso.model.window import (
    Windows,
    _gathered_tap_gradient,
    _multiplied_tap_gradient,
    lay_out,
    taps_of,
    window_max,
)
from toy_batch import make_sentences


def test_gaps_put_rows_of_zeros_around_every_sentence() -> None:
    layout = lay_out(make_sentences([2, 1]), gap=2, before=1)
    assert layout.spread(torch.tensor([5, 6, 7])).tolist() == [0, 5, 6, 0, 0, 7, 0]
    assert layout.sentence_Z.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert layout.offset_Z.tolist() == [0, 1, 2, 3, 0, 1, 2]


def test_tap_j_holds_the_filters_wider_than_j() -> None:
    narrow, wide = torch.tensor([[[1.0]], [[2.0]]]), torch.tensor([[[3.0]], [[4.0]], [[5.0]]])
    assert [tap.flatten().tolist() for tap in taps_of([narrow, wide])] == [[1, 3], [2, 4], [5]]


def test_a_tie_gives_its_gradient_to_the_first_window() -> None:
    position_TP = torch.tensor([[1.0], [3.0], [3.0], [2.0]], requires_grad=True)
    nothing = torch.zeros(0, dtype=torch.long)
    tokens = TokenRows(word_TW=torch.zeros(4, 1), place_U=nothing, type_UW=torch.zeros(0, 1))
    layout = lay_out(make_sentences([4]), gap=0)
    windows = Windows(group_Z=torch.zeros(4, dtype=torch.long), is_window_ZK=torch.ones(4, 1).bool(), num_groups=1)
    peak_GF = window_max(tokens, position_TP, layout, windows, [torch.ones(1, 2)])
    peak_GF.sum().backward()
    assert peak_GF.tolist() == [[3.0]]
    assert position_TP.grad is not None
    assert position_TP.grad.flatten().tolist() == [0, 1, 0, 0]


def test_both_ways_to_the_gradient_of_a_tap_agree() -> None:
    generator = torch.Generator().manual_seed(0)
    row_ZD, grad_GF = (torch.randn(*shape, dtype=torch.float64, generator=generator) for shape in [(9, 4), (2, 3)])
    start_GF = torch.tensor([[0, 3, 1], [5, 6, 4]])
    grad_ZF = torch.zeros(9, 3, dtype=torch.float64).scatter_add_(0, start_GF, grad_GF)
    for j, num_filters in enumerate([3, 3, 1]):
        tap_FD = torch.zeros(num_filters, 4)
        torch.testing.assert_close(
            _gathered_tap_gradient(row_ZD, start_GF, grad_GF, tap_FD, j),
            _multiplied_tap_gradient(row_ZD, grad_ZF, tap_FD, j),
        )
