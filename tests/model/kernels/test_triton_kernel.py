import pytest
import torch
from torch import Tensor

from gpu import DEVICE, distance, needs_gpu
from sayso.model.kernels import torch_kernel, triton_kernel
from sayso.model.kernels.base import Codes, ProductTables, TokenRows, Windows

OVER_TIME = Windows(widths=(2, 3, 4, 5), num_filters=100)
NARROW = Windows(widths=(1, 2, 7), num_filters=6)
PIECEWISE = Windows(widths=(3,), num_filters=230, before=1, num_pieces=3)
LENGTHS = {
    "ordinary": [39, 12, 130, 4, 60] * 4,
    "of one token": [1] * 50,
    "of a thousand tokens": [1000, 5],
    "empty between others": [0, 7, 0, 0, 3, 0],
}
NUM_DISTINCT, NUM_DISTANCES, NUM_LEARNED = 300, 61, 9


def make_case(windows: Windows, lengths: list[int]) -> tuple[Codes, ProductTables]:
    """Return drawn sentences and drawn tables in float64."""
    generator = torch.Generator().manual_seed(sum(lengths))
    total = sum(lengths)

    def draw(high: int) -> Tensor:
        return torch.randint(0, high, (total,), generator=generator, dtype=torch.int32)

    pieces = [torch.randint(0, 3, (length,), generator=generator).sort().values for length in lengths]
    codes = Codes(
        word_T=draw(NUM_DISTINCT),
        head_T=draw(NUM_DISTANCES),
        tail_T=draw(NUM_DISTANCES),
        piece_T=torch.cat(pieces).int(),
        start_S1=torch.tensor([0, *lengths]).cumsum(0).int(),
    )
    sizes = (NUM_DISTINCT, NUM_DISTANCES, NUM_DISTANCES)
    word, head, tail = (
        torch.randn(num, windows.first_columns[-1], generator=generator, dtype=torch.float64) for num in sizes
    )
    return codes, ProductTables(word_YA=word, head_QA=head, tail_QA=tail)


def on_gpu(codes: Codes) -> Codes:
    return Codes(*(value.to(DEVICE) for value in codes))


def rounded(tables: ProductTables, dtype: torch.dtype) -> ProductTables:
    return ProductTables(*(value.to(dtype) for value in tables))


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("windows", [OVER_TIME, NARROW, PIECEWISE], ids=["over time", "narrow", "piecewise"])
def test_peaks_are_those_of_the_plain_kernel_in_float64(windows: Windows, lengths: list[int], dtype) -> None:
    codes, tables = make_case(windows, lengths)
    tables = rounded(tables, dtype)
    expected, token_GF = torch_kernel.peaks(rounded(tables, torch.float64), codes, windows)
    on_device = ProductTables(*(value.to(DEVICE) for value in tables))
    found, found_token_GF = (value.cpu() for value in triton_kernel.peaks(on_device, on_gpu(codes), windows))
    is_there = expected > -torch.inf
    assert torch.equal(found > -torch.inf, is_there)
    assert distance(found[is_there], expected[is_there]) < 1e-6
    # In float32 two windows can tie that do not in float64.
    assert (found_token_GF == token_GF).float().mean() > 0.999
    assert torch.equal(found_token_GF == -1, ~is_there)


@needs_gpu
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("windows", [OVER_TIME, NARROW, PIECEWISE], ids=["over time", "narrow", "piecewise"])
def test_gradients_are_those_of_the_plain_kernel_in_float64(windows: Windows, lengths: list[int]) -> None:
    codes, tables = make_case(windows, lengths)
    peak_GF, token_GF = torch_kernel.peaks(tables, codes, windows)
    grad_GF = torch.randn_like(peak_GF) * (peak_GF > 0.0)
    row_YW = torch.randn(NUM_DISTINCT, 24, dtype=torch.float64)
    rows = TokenRows(row_YW=row_YW, num_learned=NUM_LEARNED, num_distances=NUM_DISTANCES)
    expected = torch_kernel.gradients(grad_GF, token_GF, rows, codes, windows)
    rows = TokenRows(row_YW=row_YW.float().to(DEVICE), num_learned=NUM_LEARNED, num_distances=NUM_DISTANCES)
    torch.set_float32_matmul_precision("highest")
    found = triton_kernel.gradients(grad_GF.float().to(DEVICE), token_GF.to(DEVICE), rows, on_gpu(codes), windows)
    for name, value in expected._asdict().items():
        assert distance(getattr(found, name), value) < 1e-5, name
