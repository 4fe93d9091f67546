"""Builders of small batches and models, drawn from a seed; apart from `toy` because they load torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import BagBatch, BagIndex, SentenceBatch
from sayso.metrics.calibration import AffineMaps
from sayso.model.calibration import Calibration
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import Extractor, ModelConfig
from toy_encoder import toy_pretrained

NUM_WORDS, NUM_TYPES, NUM_RELATIONS, NUM_ENTITIES, WORD_WIDTH = 30, 4, 5, 7, 6


@contextmanager
def torch_threads(num: int) -> Iterator[None]:
    """Let torch use this many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(num)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def make_sentences(lengths: Sequence[int], seed: int = 0, num_types: int = NUM_TYPES) -> SentenceBatch:
    """Return sentences of these lengths; words, types and distances are drawn, pieces grow from 0 to at most 2."""
    generator = torch.Generator().manual_seed(seed)
    total = sum(lengths)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (total,), generator=generator)

    cuts = [sorted(torch.randint(1, n + 1, (2,), generator=generator).tolist()) for n in lengths]
    pieces = [(i >= first) + (i >= last) for n, (first, last) in zip(lengths, cuts, strict=True) for i in range(n)]
    return SentenceBatch(
        token_T=draw(0, NUM_WORDS + num_types),
        head_distance_T=draw(-40, 41),
        tail_distance_T=draw(-40, 41),
        piece_T=torch.tensor(pieces, dtype=torch.long),
        start_S1=torch.tensor([0, *lengths]).cumsum(0),
    )


def make_bags(sizes: Sequence[int], seed: int = 0) -> BagIndex:
    """Return bags of these sizes with drawn entities."""
    generator = torch.Generator().manual_seed(seed)
    head_B, tail_B = torch.randint(0, NUM_ENTITIES, (2, len(sizes)), generator=generator)
    bag_N = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes, dtype=torch.long))
    return BagIndex(bag_N=bag_N, head_B=head_B, tail_B=tail_B)


def make_batch(sizes: Sequence[int], seed: int = 0, num_types: int = NUM_TYPES) -> BagBatch:
    """Return bags of these sizes whose sentences have 1 to 12 tokens."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 13, (sum(sizes),), generator=generator).tolist()
    nothing = torch.zeros(0, dtype=torch.long)
    return BagBatch(
        sentences=make_sentences(lengths, seed, num_types),
        bags=make_bags(sizes, seed),
        label_BR=torch.randint(0, 2, (len(sizes), NUM_RELATIONS), generator=generator).float(),
        distractor_bag_M=nothing,
        distractor_relation_M=nothing,
        target_S=torch.full((sum(sizes),), torch.nan),
    )


def make_vectors(num_sentences: int, width: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    """Return sentence vectors in float64, none negative, about half of the values zero, as encoders return them."""
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(num_sentences, width, generator=generator, dtype=torch.float64)).relu()


def make_extractor(config: ModelConfig, seed: int = 0, dtype: torch.dtype = torch.float64) -> Extractor:
    """Return an extractor in evaluation mode, for tokens and entities as the other builders draw them."""
    generator = torch.Generator().manual_seed(seed)
    word_width = 0 if isinstance(config.encoder, TransformerConfig) else WORD_WIDTH
    tables = ModelTables(
        word_VW=torch.randn(NUM_WORDS, word_width, generator=generator),
        num_types=NUM_TYPES,
        num_relations=NUM_RELATIONS,
        entity_EV=torch.randn(NUM_ENTITIES, 3, generator=generator).index_fill(0, torch.tensor(0), 0.0),
        pretrained=toy_pretrained(NUM_WORDS, NUM_TYPES),
    )
    extractor = Extractor(config, tables, seed)
    size_R = getattr(extractor.aggregator, "size_R", None)
    if size_R is not None:
        # It starts at 0, where nothing depends on it.
        torch.nn.init.normal_(size_R, generator=generator)
    return extractor.to(dtype).eval()


def calibrate(extractor: Extractor, seed: int = 0) -> Extractor:
    """Give the extractor a drawn calibration, far from the identity, and return it."""
    rng = np.random.default_rng(seed)
    maps = AffineMaps(rng.uniform(0.3, 2.5, NUM_RELATIONS), rng.normal(0, 1.5, NUM_RELATIONS))
    extractor.calibration = Calibration(maps, {"pairs": "drawn"}).to(extractor.scorer.bias_R)
    return extractor


def part_of(sentences: SentenceBatch, wanted: Sequence[int]) -> SentenceBatch:
    """Return the wanted sentences of a batch, in this order."""
    spans = list(pairwise(sentences.start_S1.tolist()))
    index_T = torch.cat([torch.arange(*spans[i]) for i in wanted])
    return SentenceBatch(
        token_T=sentences.token_T[index_T],
        head_distance_T=sentences.head_distance_T[index_T],
        tail_distance_T=sentences.tail_distance_T[index_T],
        piece_T=sentences.piece_T[index_T],
        start_S1=torch.tensor([0, *(spans[i][1] - spans[i][0] for i in wanted)]).cumsum(0),
    )
