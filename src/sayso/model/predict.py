"""Predictions for whole parts and corpora, in bounded memory: bags slice by slice, all sentences, no dropout.

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from sayso.errors import BadInputError
from sayso.facts.corpus_facts import CorpusFacts, FactCollector
from sayso.features.batch import BagBatch, Part, SentenceBatch, collate, sentence_batch
from sayso.features.lexicon import TypesById
from sayso.features.mentions import ModelInput
from sayso.features.user_input import InputBuilder, warn_unknown
from sayso.model.checkpoint import ModelParts
from sayso.model.extractor import Extractor
from sayso.model.kernels.threads import compiled_only
from sayso.records import Sentence
from sayso.store.block import SentenceBlock
from sayso.store.columns import is_finite

TOKENS_AT_A_TIME = 131_072
_SENTENCES_AT_A_TIME = 8_192
_SENTENCES_SHARED = 65_536
"""Among this many sentences, equal texts are read once on a CPU; vectors of all of them are held in memory."""


class NotFiniteError(BadInputError):
    """The model's predictions are infinite or NaN."""


def predict_logits(extractor: Extractor, part: Part) -> np.ndarray:
    """Return logit_BR for all bags of a part; raise `NotFiniteError` on infinite values or NaN."""
    # Left on a GPU until the end, so that it never waits for the CPU to collate the next slice.
    logits = [logit_BR for _, _, logit_BR in slices_of_logits(extractor, part)]
    found = torch.cat(logits).cpu().numpy() if logits else np.zeros((0, part.num_relations), np.float32)
    return refuse_not_finite(found)


def refuse_not_finite(logit_BR: np.ndarray) -> np.ndarray:
    """Return the logits; raise `NotFiniteError` if one is infinite or NaN."""
    if not is_finite(logit_BR):
        raise NotFiniteError(
            "the model's probabilities are not numbers (NaN): training diverged, or the weights are damaged:"
            " train it again with a smaller train.learning_rate"
        )
    return logit_BR


@torch.no_grad()
def slices_of_logits(extractor: Extractor, part: Part) -> Iterator[tuple[BagBatch, Tensor, Tensor]]:
    """Yield batch, vector_ND and logit_BR for each slice of bags."""
    device = next(extractor.parameters()).device
    was_training = extractor.training
    extractor.eval()
    try:
        for batch, vector_ND in _encoded_slices(extractor, part, device):
            with compiled_only():
                logit_BR = extractor.classify(vector_ND, batch.bags)
            yield batch, vector_ND, logit_BR
    finally:
        extractor.train(was_training)


def _encoded_slices(extractor: Extractor, part: Part, device: torch.device) -> Iterator[tuple[BagBatch, Tensor]]:
    """Yield batch and vector_ND for each slice of bags."""
    first_B1 = part.table.first_B1
    for _, near in groupby(slices_of_bags(part), lambda bags: int(first_B1[bags[0]]) // _SENTENCES_SHARED):
        slices = list(near)
        first, stop = first_B1[slices[0][0]], first_B1[slices[-1][-1] + 1]
        shared_ND = None
        if device.type == "cpu" and len(slices) > 1:
            shared_ND = _encode_shared(extractor, part.inputs.take(np.arange(first, stop)))
        for bags in slices:
            batch = collate(part, bags).to(device)
            if shared_ND is None:
                with compiled_only():
                    vector_ND = _encode_in_pieces(extractor, batch.sentences)
            else:
                vector_ND = shared_ND[first_B1[bags[0]] - first : first_B1[bags[-1] + 1] - first]
            yield batch, vector_ND


def _encode_shared(extractor: Extractor, inputs: ModelInput) -> Tensor | None:
    """Return vector_ND, encoded so that equal texts are read together; None if the encoder reads every sentence."""
    order = extractor.reading_order(inputs)
    if order is None:
        return None
    piece_N = np.cumsum(inputs.tokens.length[order]) // TOKENS_AT_A_TIME
    pieces = np.split(order, np.flatnonzero(np.diff(piece_N)) + 1)
    with compiled_only():
        vector_ND = torch.cat([extractor.encode(sentence_batch(inputs.take(piece))) for piece in pieces])
    shared_ND = torch.empty_like(vector_ND)
    shared_ND[torch.from_numpy(order)] = vector_ND
    return shared_ND


def slices_of_bags(part: Part) -> Iterator[np.ndarray]:
    """Yield the bags in order, in slices of bounded size, each with at least one bag."""
    table = part.table
    tokens_B1 = part.inputs.tokens.start[table.first_B1]
    first = 0
    while first < table.num_bags:
        by_tokens = int(np.searchsorted(tokens_B1, tokens_B1[first] + TOKENS_AT_A_TIME, side="right")) - 1
        by_sentences = int(np.searchsorted(table.first_B1, table.first_B1[first] + _SENTENCES_AT_A_TIME, "right")) - 1
        stop = max(first + 1, min(by_tokens, by_sentences, table.num_bags))
        yield np.arange(first, stop)
        first = stop


def encode_in_pieces(extractor: Extractor, inputs: ModelInput, device: torch.device) -> Tensor:
    """Return vector_ND of the sentences, encoded a bounded number of tokens at a time."""
    return _encode_in_pieces(extractor, sentence_batch(inputs).to(device))


def _encode_in_pieces(extractor: Extractor, sentences: SentenceBatch) -> Tensor:
    start, num = sentences.start_S1.cpu().numpy(), sentences.num_sentences
    if start[-1] <= TOKENS_AT_A_TIME:
        return extractor.encode(sentences)
    pieces, first = [], 0
    while first < num:
        stop = int(np.searchsorted(start, start[first] + TOKENS_AT_A_TIME, side="right")) - 1
        stop = max(first + 1, stop)
        pieces.append(extractor.encode(sentences.slice(first, stop)))
        first = stop
    return torch.cat(pieces)


def predict_probabilities(extractor: Extractor, part: Part) -> np.ndarray:
    """Return probability_BR for all bags of a part."""
    return torch.from_numpy(predict_logits(extractor, part)).sigmoid().numpy()


def facts_of_corpus(
    model: ModelParts,
    sentences: Iterable[Sentence | SentenceBlock],
    threshold: float,
    top: int | None,
    types: TypesById,
) -> CorpusFacts:
    """Return the predicted facts, most probable first; only the entities and the facts are held in memory."""
    builder = InputBuilder(model.lexicon)
    builder.add_stream(_only_sentences(sentences))
    entities = builder.recognise(types)
    warn_unknown(entities, model.lexicon, model.extractor.config.use_entities)
    collector, num_repeated, num_cut = FactCollector(threshold, top), 0, 0
    for bags in builder.portions(len(model.relations), entities):
        probability_BR = predict_probabilities(model.extractor, bags.part)
        size_B = bags.part.table.size_B
        collector.add(probability_BR, bags.head_B, bags.tail_B, bags.line_B, size_B)
        num_repeated += bags.num_repeated
        num_cut += model.extractor.num_cut(bags.part.inputs)
    return CorpusFacts(
        found_F=collector.sorted(),
        relations=[relation.name for relation in model.relations],
        entity_ids=entities.ids,
        names=entities.names,
        num_pairs=collector.num_pairs,
        num_repeated=num_repeated,
        num_too_far_apart=builder.num_too_far_apart,
        num_cut=num_cut,
        highest=collector.highest,
    )


def _only_sentences(sentences: Iterable[Sentence | SentenceBlock]) -> Iterator[Sentence | SentenceBlock]:
    """Yield the sentences; raise if the first is something else, such as a bag or a file name."""
    for number, sentence in enumerate(sentences):
        if not number and not isinstance(sentence, Sentence | SentenceBlock):
            raise TypeError(f"expected sayso.Sentence records, got {type(sentence).__name__}")
        yield sentence
