from dataclasses import replace

import torch

from sayso.model.position import PositionEmbedding
from toy_batch import make_sentences

FOUR = replace(
    make_sentences([4]),
    head_distance_T=torch.tensor([-31, -1, 0, 99]),
    tail_distance_T=torch.tensor([2, 0, -2, -3]),
)


def test_unsigned_positions_begin_as_the_capped_distance_for_both_mentions() -> None:
    position_TP = PositionEmbedding("shared_unsigned", 1, 30, torch.Generator())(FOUR)
    assert position_TP.tolist() == [[30, 2], [1, 0], [0, 2], [30, 3]]


def test_signed_positions_tell_sides_and_mentions_apart() -> None:
    embedding = PositionEmbedding("two_signed", 1, 30, torch.Generator())
    with torch.no_grad():
        embedding.table_QP.copy_(torch.arange(122.0)[:, None])
    # Rows 0 to 60 are head distances from -30 to 30, rows 61 to 121 the tail's.
    assert embedding(FOUR).tolist() == [[0, 93], [29, 91], [30, 89], [60, 88]]
