import torch

from sayso.model.embedding import TokenEmbedding
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
