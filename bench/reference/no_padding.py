"""An efficient dense implementation: sentences batched by similar length, all bags reduced at once.

Shapes as in `plain`, and L tokens of the longest sentence in a bucket.
"""

import torch
from torch import Tensor

from sayso.features.batch import BagIndex, SentenceBatch

from .plain import PlainModel

BUCKET = 16
"""Number of sentences padded together, to the longest of them; sorted by length, there is hardly any padding.

The fastest of 8, 16, 32, 64 and 128."""


class UnpaddedModel(PlainModel):
    """Encodes only real tokens and reduces all bags in one operation."""

    def encode(self, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        order_S = sentences.length_S.argsort()
        peak_SF = torch.cat([self._encode_bucket(sentences, rows) for rows in order_S.split(BUCKET)])
        return self._project(peak_SF[order_S.argsort()])

    def _encode_bucket(self, sentences: SentenceBatch, row_s: Tensor) -> Tensor:
        length_s = sentences.length_S[row_s]
        place_L = torch.arange(max(int(length_s.max()), self.widths[-1]))
        is_token_sL = place_L < length_s[:, None]
        place_sL = (sentences.start_S1[row_s][:, None] + place_L) * is_token_sL
        columns = (sentences.token_T, sentences.head_distance_T, sentences.tail_distance_T)
        row_sLD = self._embed(*(column_T.long()[place_sL] for column_T in columns)) * is_token_sL[..., None]
        return self._convolve(row_sLD, length_s)

    def classify(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR."""
        if not self._attends:
            weighted_ND = self._weigh(vector_ND) * vector_ND
            lowest_BD = vector_ND.new_full((bags.num_bags, vector_ND.shape[1]), -torch.inf)
            index_ND = bags.bag_N[:, None].expand_as(weighted_ND)
            pooled_BD = lowest_BD.scatter_reduce(0, index_ND, weighted_ND, "amax")
            return self._score(pooled_BD[:, None], bags.head_B, bags.tail_B)
        weight_NR = self._softmax(self._attend(vector_ND), bags)
        if "scorer.entity.entity_EV" not in self.weight:
            match_NR = vector_ND @ self.weight["scorer.relation_RD"].T
            return self._sum(weight_NR * match_NR, bags) + self.weight["scorer.bias_R"]
        state_BRD = self._sum(weight_NR[..., None] * vector_ND[:, None], bags)
        return self._score(state_BRD, bags.head_B, bags.tail_B)

    def _softmax(self, score_NR: Tensor, bags: BagIndex) -> Tensor:
        highest_BR = score_NR.new_full((bags.num_bags, score_NR.shape[1]), -torch.inf)
        index_NR = bags.bag_N[:, None].expand_as(score_NR)
        highest_BR = highest_BR.scatter_reduce(0, index_NR, score_NR.detach(), "amax")
        mass_NR = (score_NR - highest_BR[bags.bag_N]).exp()
        return mass_NR / self._sum(mass_NR, bags)[bags.bag_N]

    @staticmethod
    def _sum(value_N: Tensor, bags: BagIndex) -> Tensor:
        return value_N.new_zeros(bags.num_bags, *value_N.shape[1:]).index_add(0, bags.bag_N, value_N)
