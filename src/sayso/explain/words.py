"""Word scores: gradient times input on the vectors of a sentence's tokens.

Shapes: B bags, N sentences in all bags, F facts, T tokens of these sentences (a token is a word, or the type
that stands for a mention), D width of a sentence vector, R relations, W width of a word vector.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sayso.explain.facts import ExplainedFacts
from sayso.features.batch import BagIndex, Part, SentenceBatch, collate
from sayso.memory import slices_by_cost
from sayso.model.ensemble import members_with
from sayso.model.extractor import Extractor
from sayso.store.rows import Rows

TOKENS_AT_A_TIME = 16_384
NUM_TOP = 3
"""How many of each fact's top sentences get word scores."""


def word_scores(
    extractor: Extractor,
    sentences: SentenceBatch,
    bags: BagIndex,
    relation_B: Tensor,
    vector_ND: Tensor | None = None,
) -> Tensor:
    """Return score_T = Σ_w v_tw ∂o_k/∂v_tw, signed, where v_t is the token's vector and k its bag's relation.

    Position vectors are inputs too, but not part of a token's score. `vector_ND` are the encoded sentences, if
    already computed. Gradients are taken in two stages, from the logits to the sentence vectors and from these to the
    tokens, so that memory stays bounded for bags of any size.
    """
    assert sentences.num_sentences == bags.num_sentences
    was_training = extractor.training
    extractor.eval()
    try:
        slices = list(slices_by_cost(sentences.length_S.tolist(), TOKENS_AT_A_TIME)) or [slice(0, 0)]
        pieces = [(rows, sentences.slice(rows.start, rows.stop)) for rows in slices]
        if vector_ND is None:
            with torch.no_grad():
                vector_ND = torch.cat([extractor.encode(piece) for _, piece in pieces])
        gradient_ND = _sentence_gradient(extractor, vector_ND, bags, relation_B)
        return torch.cat([_token_scores(extractor, piece, gradient_ND[rows]) for rows, piece in pieces])
    finally:
        extractor.train(was_training)


def _sentence_gradient(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, relation_B: Tensor) -> Tensor:
    """Return ∂o_k/∂x_n for each sentence and the relation of its bag."""
    with torch.enable_grad():
        vector_ND = vector_ND.detach().requires_grad_()
        chosen_B = extractor.classify(vector_ND, bags).gather(1, relation_B[:, None])
        (gradient_ND,) = torch.autograd.grad(chosen_B.sum(), vector_ND)
    return gradient_ND


def _token_scores(extractor: Extractor, sentences: SentenceBatch, gradient_ND: Tensor) -> Tensor:
    """Return each token's contribution to the change of the sentence vectors along their gradient."""
    parts = members_with(extractor, gradient_ND)
    scores = [member.encoder.token_scores(member.embedding, sentences, part_ND) for member, part_ND in parts]
    return torch.stack(scores).sum(0)


@dataclass(frozen=True, kw_only=True)
class WordScores:
    """Token scores of sentences: each sentence's fact, its row in the part, its tokens and their scores."""

    fact_W: np.ndarray
    sentence_W: np.ndarray
    tokens: Rows
    scores: Rows


def top_word_scores(
    extractor: Extractor, part: Part, explained: ExplainedFacts, vector_ND: Tensor | None = None
) -> WordScores:
    """Return word scores for each fact's top sentences; `vector_ND` are the part's encoded sentences, if computed."""
    length_E = part.inputs.tokens.length[explained.sentences.value]
    fact_E = np.repeat(np.arange(len(explained.sentences)), explained.sentences.length)
    tokens_F = np.bincount(fact_E, length_E, minlength=len(explained.sentences)).astype(np.int64)
    scores = [np.zeros(0, np.float32)]
    device = extractor.scorer.bias_R.device
    for some in slices_by_cost(tokens_F, TOKENS_AT_A_TIME):
        batch = collate(part, explained.bag_F[some]).to(device)
        relation_B = torch.from_numpy(explained.relation_F[some]).to(device)
        rows = explained.sentences.take(np.arange(some.start, some.stop)).value
        encoded_ND = None if vector_ND is None else vector_ND[torch.from_numpy(rows).to(device)]
        scores.append(word_scores(extractor, batch.sentences, batch.bags, relation_B, encoded_ND).cpu().numpy())
    kept = np.flatnonzero(explained.rank_E <= NUM_TOP)
    sentence_W = explained.sentences.value[kept]
    return WordScores(
        fact_W=fact_E[kept],
        sentence_W=sentence_W,
        tokens=part.inputs.tokens.take(sentence_W),
        scores=Rows.of_lengths(np.concatenate(scores), length_E).take(kept),
    )
