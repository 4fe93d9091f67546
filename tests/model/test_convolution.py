import copy
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from sayso.features.batch import SentenceBatch
from sayso.model.convolution import KeptProducts, flat, window_max
from sayso.model.embedding import DistinctRows, PositionRows
from sayso.model.encoders.cnn import CnnConfig, CnnEncoder
from sayso.model.extractor import Extractor, ModelConfig
from sayso.model.kernels.base import Windows
from toy_batch import make_extractor, make_sentences


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


CONFIG = ModelConfig(encoder=CnnConfig(num_filters=5, output_width=8))
ROW_BYTES = 5 * (2 + 3 + 4 + 5) * 8


def kept(extractor: Extractor) -> KeptProducts:
    assert isinstance(extractor.encoder, CnnEncoder)
    return extractor.encoder.convolution.kept


def learned(extractor: Extractor, sentences: SentenceBatch) -> Tensor:
    """Return the vectors as in training, without the cache."""
    return extractor.encode(sentences).detach()


def test_kept_products_give_the_vectors_of_the_path_that_learns() -> None:
    extractor = make_extractor(CONFIG)
    for seed in range(3):
        sentences = make_sentences([9, 1, 4], seed)
        with torch.no_grad():
            found = extractor.encode(sentences)
        torch.testing.assert_close(found, learned(extractor, sentences))


@torch.no_grad()
def test_a_changed_parameter_recomputes_them() -> None:
    extractor, sentences = make_extractor(CONFIG), make_sentences([9, 4])
    before = extractor.encode(sentences)
    for parameter in (extractor.encoder.convolution.weights[1], extractor.embedding.type_KW):  # type: ignore[union-attr,index]
        parameter.mul_(2.0)
        after = extractor.encode(sentences)
        assert not torch.allclose(before, after)
        torch.testing.assert_close(after, copy.deepcopy(extractor).encode(sentences))
        before = after


@torch.no_grad()
def test_memory_is_bounded_and_what_does_not_fit_is_still_computed() -> None:
    extractor, plain = make_extractor(CONFIG), make_extractor(CONFIG)
    for num_rows in (40, 12, 3):
        extractor.limit_products(num_rows * ROW_BYTES)
        for seed in range(4):
            sentences = make_sentences([5, 4], seed)
            torch.testing.assert_close(extractor.encode(sentences), plain.encode(sentences))
            state = kept(extractor)._state
            assert state is not None
            assert state.product_YA.numel() * 8 <= num_rows * ROW_BYTES
    assert state.num_kept == 0


def test_training_frees_the_memory() -> None:
    extractor, sentences = make_extractor(CONFIG), make_sentences([9, 4])
    with torch.no_grad():
        extractor.encode(sentences)
    assert kept(extractor)._state is not None
    extractor.train()
    extractor.encode(sentences)
    assert kept(extractor)._state is None


def test_several_threads_get_the_same() -> None:
    extractor = make_extractor(CONFIG)
    extractor.limit_products(20 * ROW_BYTES)
    batches = [make_sentences([9, 3, 5], seed) for seed in range(40)]

    @torch.no_grad()
    def encode(sentences: SentenceBatch) -> Tensor:
        return extractor.encode(sentences)

    expected = [learned(extractor, sentences) for sentences in batches]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encode, batches))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
