"""Word scores: which words of a sentence carried it, gradient times input on the vectors of its tokens.

Shapes: B bags, N sentences of all bags together, T tokens of these sentences, D width of a sentence vector, R
relations, W width of a word vector.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from sayso.explain.slices import slices_by_cost
from sayso.features.batch import BagIndex, SentenceBatch
from sayso.model.embedding import DistinctRows, TokenEmbedding
from sayso.model.extractor import Extractor

TOKENS_AT_A_TIME = 16_384


def word_scores(extractor: Extractor, sentences: SentenceBatch, bags: BagIndex, relation_B: Tensor) -> Tensor:
    """Return score_T = Σ_w v_tw ∂o_k/∂v_tw, signed, where v_t is the token's vector and k its bag's relation.

    The vectors of positions are inputs too, but not part of a token's score. Two stages, so that memory stays bounded
    for bags of any size: the gradient of the logits down to the sentence vectors, then from these to the tokens.
    """
    assert sentences.num_sentences == bags.num_sentences
    was_training = extractor.training
    extractor.eval()
    try:
        pieces = list(_pieces(sentences))
        gradient_ND = _sentence_gradient(extractor, [piece for _, piece in pieces], bags, relation_B)
        scores = [_token_scores(extractor, piece, gradient_ND[rows]) for rows, piece in pieces]
    finally:
        extractor.train(was_training)
    return torch.cat([gradient_ND.new_zeros(0), *scores])


def _pieces(sentences: SentenceBatch) -> Iterator[tuple[slice, SentenceBatch]]:
    """Yield the sentences, a bounded number of tokens at a time."""
    for rows in slices_by_cost(sentences.length_S.tolist(), TOKENS_AT_A_TIME):
        yield rows, sentences.slice(rows.start, rows.stop)


def _sentence_gradient(extractor: Extractor, pieces: list[SentenceBatch], bags: BagIndex, relation_B: Tensor) -> Tensor:
    """Return ∂o_k/∂x_n for each sentence and the relation of its bag."""
    with torch.no_grad():
        nothing_ND = extractor.scorer.relation_RD.new_zeros(0, extractor.scorer.relation_RD.shape[1])
        vector_ND = torch.cat([nothing_ND, *(extractor.encode(piece) for piece in pieces)])
    with torch.enable_grad():
        vector_ND.requires_grad_()
        chosen_B = extractor.classify(vector_ND, bags).gather(1, relation_B[:, None])
        (gradient_ND,) = torch.autograd.grad(chosen_B.sum(), vector_ND)
    return gradient_ND


def _token_scores(extractor: Extractor, sentences: SentenceBatch, gradient_ND: Tensor) -> Tensor:
    """Return the tokens' share in the change of the sentence vectors along their gradient."""
    with torch.no_grad():
        distinct: DistinctRows = extractor.embedding(sentences)
        row_TW = distinct.row_YW[distinct.index_T]
    with torch.enable_grad():
        vector_ND = extractor.encoder(_OpenEmbedding(row_TW.requires_grad_()), sentences)
        (change_TW,) = torch.autograd.grad((vector_ND * gradient_ND).sum(), row_TW)
    score_T: Tensor = (row_TW.detach() * change_TW).sum(1)
    return score_T


class _OpenEmbedding(TokenEmbedding):
    """Gives these vectors for the tokens, all as if they were learned.

    Words are frozen in training and encoders compute no gradient for them; for learned types they do.
    """

    def __init__(self, row_TW: Tensor) -> None:
        nn.Module.__init__(self)
        self.row_TW = row_TW

    @property
    def width(self) -> int:
        """W."""
        return self.row_TW.shape[1]

    def forward(self, sentences: SentenceBatch) -> DistinctRows:
        """Return the vectors, each token's its own and learned."""
        index_T = torch.arange(len(self.row_TW), device=sentences.token_T.device)
        return DistinctRows(row_YW=self.row_TW, index_T=index_T, num_learned=len(self.row_TW))
