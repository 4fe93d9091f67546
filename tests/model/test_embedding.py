import torch

from sayso.model.embedding import TokenEmbedding
from toy_batch import NUM_TYPES, NUM_WORDS, WORD_WIDTH, make_sentences


def make_embedding(num_types: int = NUM_TYPES) -> TokenEmbedding:
    generator = torch.Generator().manual_seed(0)
    return TokenEmbedding(torch.randn(NUM_WORDS, WORD_WIDTH, generator=generator), num_types, generator)


def test_words_come_from_the_frozen_table_and_types_from_the_learned_one() -> None:
    embedding, sentences = make_embedding(), make_sentences([9, 30])
    rows = embedding(sentences)
    whole = torch.cat([embedding.word_VW, embedding.type_KW])[sentences.token_T]
    got = rows.word_TW.clone()
    got[rows.place_U] = rows.type_UW.detach()
    torch.testing.assert_close(got, whole)
    assert len(rows.place_U) == int((sentences.token_T >= NUM_WORDS).sum()) > 0


def test_only_types_are_learned() -> None:
    embedding = make_embedding()
    rows = embedding(make_sentences([30]))
    assert [name for name, _ in embedding.named_parameters()] == ["type_KW"]
    assert not rows.word_TW.requires_grad
    assert rows.type_UW.requires_grad


def test_a_model_without_types_has_no_type_rows() -> None:
    rows = make_embedding(num_types=0)(make_sentences([5, 2], num_types=0))
    assert rows.type_UW.shape == (0, WORD_WIDTH)
    assert rows.place_U.numel() == 0


def test_distinct_tokens_have_one_row_each_and_give_the_same_vectors() -> None:
    embedding, sentences = make_embedding(), make_sentences([9, 30])
    rows = embedding.distinct(sentences)
    assert len(rows.row_YW) == len(sentences.token_T.unique())
    whole = torch.cat([embedding.word_VW, embedding.type_KW])[sentences.token_T]
    torch.testing.assert_close(rows.row_YW[rows.index_T], whole)
