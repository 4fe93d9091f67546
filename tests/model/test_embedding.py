from dataclasses import replace

import torch

from sayso.model.embedding import PositionEmbedding, TokenEmbedding
from toy_batch import NUM_TYPES, NUM_WORDS, WORD_WIDTH, make_sentences


def make_embedding(num_types: int = NUM_TYPES) -> TokenEmbedding:
    generator = torch.Generator().manual_seed(0)
    return TokenEmbedding(torch.randn(NUM_WORDS, WORD_WIDTH, generator=generator), num_types, generator)


def test_each_distinct_token_has_one_row_from_the_words_or_the_types() -> None:
    embedding, sentences = make_embedding(), make_sentences([9, 30])
    rows = embedding(sentences)
    assert len(rows.row_YW) == len(sentences.token_T.unique())
    whole = torch.cat([embedding.word_VW, embedding.type_KW])[sentences.token_T]
    torch.testing.assert_close(rows.row_YW[rows.index_T], whole)


def test_only_types_are_learned_and_they_are_the_last_rows() -> None:
    embedding, sentences = make_embedding(), make_sentences([30])
    rows = embedding(sentences)
    assert [name for name, _ in embedding.named_parameters()] == ["type_KW"]
    is_type_T = sentences.token_T >= NUM_WORDS
    assert rows.num_learned == len(sentences.token_T[is_type_T].unique()) > 0
    assert bool((rows.index_T[is_type_T] >= len(rows.row_YW) - rows.num_learned).all())


def test_a_model_without_types_learns_no_rows() -> None:
    rows = make_embedding(num_types=0)(make_sentences([5, 2], num_types=0))
    assert rows.num_learned == 0
    assert not rows.row_YW.requires_grad
    assert rows.row_YW.shape[1] == WORD_WIDTH


FOUR = replace(
    make_sentences([4]),
    head_distance_T=torch.tensor([-31, -1, 0, 99]),
    tail_distance_T=torch.tensor([2, 0, -2, -3]),
)


def test_unsigned_positions_start_as_the_capped_distance_for_both_mentions() -> None:
    position_TP = PositionEmbedding("shared_unsigned", 1, 30, torch.Generator())(FOUR)
    assert position_TP.tolist() == [[30, 2], [1, 0], [0, 2], [30, 3]]


def test_signed_positions_tell_sides_and_mentions_apart() -> None:
    embedding = PositionEmbedding("two_signed", 1, 30, torch.Generator())
    with torch.no_grad():
        embedding.table_QP.copy_(torch.arange(122.0)[:, None])
    # Rows 0 to 60 are head distances from -30 to 30, rows 61 to 121 the tail's.
    assert embedding(FOUR).tolist() == [[0, 93], [29, 91], [30, 89], [60, 88]]
