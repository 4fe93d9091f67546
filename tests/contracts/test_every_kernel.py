"""What `kernels.base` promises, for every kernel whose compiler and hardware are available."""

from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sayso.model.kernels import KERNELS, Kernel, kernel_named
from sayso.model.kernels.base import Codes, Gradients, ProductTables, TokenRows, Windows

WINDOWS = [
    Windows(widths=(1,), num_filters=3),
    Windows(widths=(2, 3, 4, 5), num_filters=4),
    Windows(widths=(3,), num_filters=5, before=1, num_pieces=3),
    Windows(widths=(4,), num_filters=2, before=1, num_pieces=3),
]
NUM_WORDS, NUM_DISTANCES, WIDTH, NUM_LEARNED = 6, 9, 5, 2


EVERY_KERNEL = [pytest.param(name, marks=[pytest.mark.gpu] if name == "triton" else []) for name in KERNELS]


def kernel_and_device(name: str) -> tuple[Kernel, torch.device]:
    return kernel_named(name), torch.device("cuda" if name == "triton" else "cpu")


def made_up(
    lengths: list[int], windows: Windows, seed: int, dtype: torch.dtype
) -> tuple[ProductTables, Codes, TokenRows]:
    generator = torch.Generator().manual_seed(seed)
    columns, num_tokens = windows.first_columns[-1], sum(lengths)

    def codes(most: int) -> Tensor:
        return torch.randint(0, most, (num_tokens,), generator=generator, dtype=torch.int32)

    def values(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    start_S1 = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0).int()
    tables = ProductTables(
        word_YA=values(NUM_WORDS, columns),
        head_QA=values(NUM_DISTANCES, columns),
        tail_QA=values(NUM_DISTANCES, columns),
    )
    code = Codes(
        word_T=codes(NUM_WORDS),
        head_T=codes(NUM_DISTANCES),
        tail_T=codes(NUM_DISTANCES),
        piece_T=codes(windows.num_pieces),
        start_S1=start_S1,
    )
    rows = TokenRows(row_YW=values(NUM_WORDS, WIDTH), num_learned=NUM_LEARNED, num_distances=NUM_DISTANCES)
    return tables, code, rows


def plain_peaks(tables: ProductTables, codes: Codes, windows: Windows) -> tuple[list[list[float]], list[list[int]]]:
    """Return the peaks and their tokens as `base` describes them, one number after the other."""
    peaks, tokens = [], []
    start = codes.start_S1.tolist()
    for s in range(len(start) - 1):
        for piece in range(windows.num_pieces):
            found = [plain_peak(tables, codes, windows, k, f, s, piece) for k in range(len(windows.widths))
                     for f in range(windows.num_filters)]  # fmt: skip
            peaks.append([peak for peak, _ in found])
            tokens.append([token for _, token in found])
    return peaks, tokens


def plain_peak(
    tables: ProductTables, codes: Codes, windows: Windows, k: int, f: int, s: int, piece: int
) -> tuple[float, int]:
    begin, end = codes.start_S1[s].item(), codes.start_S1[s + 1].item()
    width, best, token = windows.widths[k], -torch.inf, -1
    for t in range(int(begin), int(end)):
        is_beyond = t > max(end - width, begin)
        if (int(codes.piece_T[t]) != piece) if windows.num_pieces > 1 else is_beyond:
            continue
        value = torch.zeros((), dtype=tables.word_YA.dtype)
        for j in range(width):
            z = t - windows.before + j
            if begin <= z < end:
                column = windows.first_columns[k] + j * windows.num_filters + f
                value = value + tables.word_YA[codes.word_T[z], column]
                value = value + tables.head_QA[codes.head_T[z], column] + tables.tail_QA[codes.tail_T[z], column]
        if value > best:
            best, token = float(value), t
    return best, token


@pytest.mark.parametrize("name", EVERY_KERNEL)
@pytest.mark.parametrize("windows", WINDOWS)
def test_peaks_are_the_highest_sums_and_tokens_the_first_windows_that_have_them(name: str, windows: Windows) -> None:
    kernel, device = kernel_and_device(name)
    dtype = torch.float32 if name == "triton" else torch.float64
    tables, codes, _ = made_up([1, 2, 0, 9, 5, 3, 12], windows, 0, dtype)
    expected_peak, expected_token = plain_peaks(tables, codes, windows)
    peak_GF, token_GF = kernel.peaks(_to(tables, device), _to(codes, device), windows)
    torch.testing.assert_close(peak_GF.cpu(), torch.tensor(expected_peak, dtype=dtype), rtol=1e-5, atol=1e-5)
    assert token_GF.tolist() == expected_token


@pytest.mark.parametrize("name", [kernel for kernel in EVERY_KERNEL if kernel.values != ("torch",)])
@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 12), max_size=6), which=st.integers(0, len(WINDOWS) - 1), seed=st.integers(0, 99)
)
@example(lengths=[1], which=2, seed=0)
@example(lengths=[1, 0, 2], which=3, seed=0)
def test_every_kernel_gives_what_the_plain_one_gives(name: str, lengths: list[int], which: int, seed: int) -> None:
    kernel, device = kernel_and_device(name)
    plain, windows = kernel_named("torch"), WINDOWS[which]
    dtype = torch.float32 if name == "triton" else torch.float64
    tables, codes, rows = made_up(lengths, windows, seed, dtype)
    expected_peak, expected_token = plain.peaks(tables, codes, windows)
    peak_GF, token_GF = kernel.peaks(_to(tables, device), _to(codes, device), windows)
    torch.testing.assert_close(peak_GF.cpu(), expected_peak, rtol=1e-5, atol=1e-5)
    assert torch.equal(token_GF.cpu(), expected_token)
    grad_GF = torch.randn(peak_GF.shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    expected = plain.gradients(grad_GF, expected_token, rows, codes, windows)
    found = kernel.gradients(grad_GF.to(device), token_GF, _to(rows, device), _to(codes, device), windows)
    for field in Gradients._fields:
        torch.testing.assert_close(getattr(found, field).cpu(), getattr(expected, field), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_a_value_that_is_not_a_number_is_not_hidden(name: str) -> None:
    kernel, device = kernel_and_device(name)
    windows = WINDOWS[1]
    tables, codes, _ = made_up([9, 7], windows, 0, torch.float32)
    tables.word_YA[codes.word_T[2]] = torch.nan
    peak_GF, _ = kernel.peaks(_to(tables, device), _to(codes, device), windows)
    assert bool(peak_GF[0].isnan().all())


def _to(thing: Any, device: torch.device) -> Any:
    return type(thing)(*(part.to(device) if isinstance(part, Tensor) else part for part in thing))
