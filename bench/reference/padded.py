"""The model as it is commonly implemented: every sentence padded to 128 tokens, with a loop over the bags.

Shapes as in `plain`, and L = 128 tokens.
"""

from itertools import pairwise

import torch
from torch import Tensor

from sayso.features.batch import BagIndex, SentenceBatch

from .plain import PlainModel

LENGTH = 128


class PaddedModel(PlainModel):
    """Encodes the padding too, and excludes it only from the maximum."""

    def encode(self, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        length_S = sentences.length_S
        is_token_SL = torch.arange(LENGTH) < length_S[:, None]
        token_SL, head_SL, tail_SL = (
            torch.zeros(sentences.num_sentences, LENGTH, dtype=torch.long).masked_scatter(is_token_SL, column_T.long())
            for column_T in (sentences.token_T, sentences.head_distance_T, sentences.tail_distance_T)
        )
        row_SLD = self._embed(token_SL, head_SL, tail_SL) * is_token_SL[..., None]
        return self._project(self._convolve(row_SLD, length_S))

    def classify(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR."""
        start_B1 = torch.searchsorted(bags.bag_N, torch.arange(bags.num_bags + 1)).tolist()
        return torch.stack(
            [
                self._classify_bag(vector_ND[first:stop], bags.head_B[bag], bags.tail_B[bag])
                for bag, (first, stop) in enumerate(pairwise(start_B1))
            ]
        )

    def _classify_bag(self, vector_nD: Tensor, head: Tensor, tail: Tensor) -> Tensor:
        """Return logit_R of one bag."""
        if self._attends:
            state_RD = self._attend(vector_nD).softmax(0).T @ vector_nD
        else:
            state_RD = (self._weigh(vector_nD) * vector_nD).amax(0, keepdim=True)
        return self._score(state_RD, head, tail)

    def explain(self, vector_ND: Tensor, bags: BagIndex) -> dict[str, Tensor]:
        """Return the paper's four scores, [N, R] each: one backward pass per relation, one forward pass per removal."""
        vector_ND = vector_ND.detach().requires_grad_()
        logit_BR = self.classify(vector_ND, bags)
        grad_NRD = torch.stack(
            [torch.autograd.grad(logit_B.sum(), vector_ND, retain_graph=True)[0] for logit_B in logit_BR.T], 1
        )
        with torch.no_grad():
            start_B1 = torch.searchsorted(bags.bag_N, torch.arange(bags.num_bags + 1)).tolist()
            pieces = [vector_ND[first:stop] for first, stop in pairwise(start_B1)]
            return {
                "attention": torch.cat([self._weights_of_bag(piece) for piece in pieces]),
                "saliency": grad_NRD.abs().sum(2),
                "gradient_x_input": (vector_ND[:, None] * grad_NRD).sum(2),
                "leave_one_out": torch.cat(
                    [self._leave_one_out(piece, bags, bag, logit_BR[bag]) for bag, piece in enumerate(pieces)]
                ),
            }

    def _weights_of_bag(self, vector_nD: Tensor) -> Tensor:
        if self._attends:
            return self._attend(vector_nD).softmax(0)
        return self._weigh(vector_nD).expand(-1, len(self.weight["scorer.bias_R"]))

    def _leave_one_out(self, vector_nD: Tensor, bags: BagIndex, bag: int, logit_R: Tensor) -> Tensor:
        """Return how much the logits drop without each sentence; the empty bag's x̄ is 0."""
        without = []
        for row in range(len(vector_nD)):
            rest_nD = torch.cat([vector_nD[:row], vector_nD[row + 1 :]])
            if not len(rest_nD):
                nothing_1D = vector_nD.new_zeros(1, vector_nD.shape[1])
                without.append(self._score(nothing_1D, bags.head_B[bag], bags.tail_B[bag]))
            else:
                without.append(self._classify_bag(rest_nD, bags.head_B[bag], bags.tail_B[bag]))
        return logit_R - torch.stack(without)
