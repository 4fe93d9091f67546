"""The features of the baseline encoder, and which words its scores credit."""

import pytest
import torch
from torch import Tensor

from sayso.explain.words import word_scores
from sayso.features.batch import BagIndex, SentenceBatch
from sayso.model.encoders.words import WordsConfig, WordsEncoder
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import make_extractor

HEAD, TAIL = 30, 31
"""Types that stand for mentions, as with +F."""


def sentence(*tokens: int) -> SentenceBatch:
    """Return a sentence with the tokens HEAD and TAIL."""
    head, tail = tokens.index(HEAD), tokens.index(TAIL)
    first, last = sorted((head, tail))
    return SentenceBatch(
        token_T=torch.tensor(tokens),
        head_distance_T=torch.tensor([place - head for place in range(len(tokens))]),
        tail_distance_T=torch.tensor([place - tail for place in range(len(tokens))]),
        piece_T=torch.tensor([(place > first) + (place > last) for place in range(len(tokens))]),
        start_S1=torch.tensor([0, len(tokens)]),
    )


@pytest.fixture
def extractor() -> Extractor:
    extractor = make_extractor(ModelConfig(encoder=WordsConfig(output_width=8, max_words=3)), seed=3)
    with torch.no_grad():
        extractor.encoder.table_HD.normal_(generator=torch.Generator().manual_seed(1))
    return extractor


def vector(extractor: Extractor, *tokens: int) -> Tensor:
    return extractor.encode(sentence(*tokens))[0].detach()


def test_only_the_first_words_between_the_mentions_count(extractor: Extractor) -> None:
    plain = vector(extractor, HEAD, 5, 6, TAIL)
    assert torch.equal(plain, vector(extractor, 9, HEAD, 5, 6, TAIL, 8))
    assert not torch.equal(plain, vector(extractor, HEAD, 5, 7, TAIL))
    long = vector(extractor, HEAD, 5, 6, 7, 8, TAIL)
    torch.testing.assert_close(long, vector(extractor, HEAD, 5, 6, 7, 9, TAIL))


def test_which_mention_comes_first_matters_even_without_words_between(extractor: Extractor) -> None:
    for words in ((), (5,), (5, 6)):
        assert not torch.allclose(vector(extractor, HEAD, *words, TAIL), vector(extractor, TAIL, *words, HEAD))


def test_the_order_of_the_words_does_not_matter_but_their_number_does(extractor: Extractor) -> None:
    torch.testing.assert_close(vector(extractor, HEAD, 5, 6, TAIL), vector(extractor, HEAD, 6, 5, TAIL))
    assert not torch.allclose(vector(extractor, HEAD, 5, TAIL), vector(extractor, HEAD, 5, 5, TAIL))


def test_a_sentence_vector_is_the_sum_of_its_features_and_mean_vectors(extractor: Extractor) -> None:
    encoder, embedding = extractor.encoder, extractor.embedding
    assert isinstance(encoder, WordsEncoder)
    whole = sentence(HEAD, 5, 6, TAIL)
    rows = encoder._features(whole, encoder._words_between(whole)).row_F
    assert len(rows) == 4  # two words, their number, the mentions
    word_VW, type_KW = embedding.word_VW, embedding.type_KW
    nothing = torch.zeros_like(word_VW[0])
    means = torch.cat([type_KW[0], type_KW[1], (word_VW[5] + word_VW[6]) / 2, nothing])
    expected = (encoder.table_HD[rows].sum(0) + encoder.projection(means[None])[0]).relu()
    torch.testing.assert_close(vector(extractor, HEAD, 5, 6, TAIL), expected.detach())


def test_word_scores_credit_the_words_with_their_features(extractor: Extractor) -> None:
    torch.nn.init.zeros_(extractor.encoder.projection.weight)
    whole = sentence(9, HEAD, 5, 6, TAIL)
    bags = BagIndex(bag_N=torch.tensor([0]), head_B=torch.tensor([0]), tail_B=torch.tensor([0]))
    score_T = word_scores(extractor, whole, bags, torch.tensor([2]))
    encoder = extractor.encoder
    rows = encoder._features(whole, encoder._words_between(whole)).row_F[:2]
    is_on_D = extractor.encode(whole)[0] > 0
    relation_D = extractor.scorer.relation_RD[2]
    expected = ((encoder.table_HD[rows] * is_on_D) @ relation_D).detach()
    torch.testing.assert_close(score_T[2:4], expected)
    assert score_T[[0, 1, 4]].abs().max() < 1e-9


def test_in_training_values_of_features_are_dropped() -> None:
    extractor = make_extractor(ModelConfig(encoder=WordsConfig(dropout=0.5)), seed=3)
    with torch.no_grad():
        extractor.encoder.table_HD.fill_(1.0)
    kept = extractor.encode(sentence(HEAD, 5, TAIL))
    assert not torch.equal(extractor.train().encode(sentence(HEAD, 5, TAIL)), kept)
