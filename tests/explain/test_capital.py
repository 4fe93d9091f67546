"""The paper's kind of example: one sentence says that a city is the capital, another only takes place there."""

import pytest
import torch

from explain.decisive import AGGREGATORS, make_decisive
from sayso.explain import EXPLAINERS
from sayso.explain.words import word_scores
from sayso.features.batch import BagIndex, SentenceBatch
from sayso.model.encoders.cnn import CnnConfig, CnnEncoder
from sayso.model.extractor import Extractor

BILLBOARD = ["a", "large", "billboard", "stood", "opposite", "the", "park", "in", "melk"]
CAPITAL = ["he", "grew", "up", "in", "melk", ",", "ostravia", "'s", "capital"]
MARKET = ["the", "market", "of", "melk", "sells", "fruit", "from", "ostravia"]
VOCABULARY = ["<unknown>", *sorted({*BILLBOARD, *CAPITAL, *MARKET})]
BAG = [BILLBOARD, CAPITAL, MARKET]


def make_sentences() -> SentenceBatch:
    words = [word for sentence in BAG for word in sentence]
    spots = [(sentence.index("ostravia") if "ostravia" in sentence else 0, sentence.index("melk")) for sentence in BAG]
    places = [(i, spot) for sentence, spot in zip(BAG, spots, strict=True) for i in range(len(sentence))]
    return SentenceBatch(
        token_T=torch.tensor([VOCABULARY.index(word) for word in words]),
        head_distance_T=torch.tensor([i - head for i, (head, _) in places]),
        tail_distance_T=torch.tensor([i - tail for i, (_, tail) in places]),
        piece_T=torch.tensor([(i > min(spot)) + (i > max(spot)) for i, spot in places]),
        start_S1=torch.tensor([0, *(len(sentence) for sentence in BAG)]).cumsum(0),
    )


def make_case(aggregator: str) -> tuple[Extractor, BagIndex]:
    """Return a model that reads word pairs: dimension 0 for "'s capital", dimension 1 for "in melk"."""
    encoder = CnnConfig(widths=(2,), num_filters=2, output_width=2)
    extractor = make_decisive(aggregator, encoder, torch.eye(len(VOCABULARY)))
    assert isinstance(extractor.encoder, CnnEncoder)
    with torch.no_grad():
        (weight,) = extractor.encoder.convolution.weights
        weight.zero_()
        for dimension, pair in enumerate([("'s", "capital"), ("in", "melk")]):
            for tap, word in enumerate(pair):
                weight[tap, dimension, VOCABULARY.index(word)] = 1.0
        extractor.encoder.bias_F.fill_(-1.0)
        extractor.encoder.projection.weight.copy_(torch.eye(2))
        extractor.encoder.projection.bias.zero_()
    zero = torch.zeros(1, dtype=torch.long)
    return extractor, BagIndex(bag_N=torch.zeros(3, dtype=torch.long), head_B=zero, tail_B=zero)


@pytest.mark.parametrize("name", EXPLAINERS)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_the_sentence_that_states_the_capital_comes_first(name: str, aggregator: str) -> None:
    extractor, bags = make_case(aggregator)
    score_NR = EXPLAINERS[name].explain(extractor, extractor.encode(make_sentences()), bags)
    billboard, capital, market = score_NR[:, 0].tolist()
    assert capital > billboard
    assert capital > market


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_the_words_that_state_it_carry_it(aggregator: str) -> None:
    extractor, bags = make_case(aggregator)
    score_T = word_scores(extractor, make_sentences(), bags, torch.tensor([0]))
    words = [word for sentence in BAG for word in sentence]
    assert {words[i] for i in score_T.topk(2).indices.tolist()} == {"'s", "capital"}
