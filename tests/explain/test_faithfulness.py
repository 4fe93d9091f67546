import numpy as np
import pytest
import torch

from sayso.explain.faithfulness import Encoded, sigmoid, smallest_sets
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor, ModelConfig, ModelTables
from sayso.store.rows import Rows


def encoded_by_hand(vectors: list[list[float]], bias: float) -> Encoded:
    """Return one bag of an attention model whose weights all sentences share: the logit is the mean of the first number
    of each vector, plus a bias."""
    tables = ModelTables(word_VW=torch.zeros(2, 3), num_types=0, num_relations=1)
    extractor = Extractor(ModelConfig(), tables, seed=0).eval()
    with torch.no_grad():
        extractor.aggregator.query_RD.zero_()
        extractor.scorer.relation_RD.zero_()
        extractor.scorer.relation_RD[0, 0] = 1.0
        extractor.scorer.bias_R.fill_(bias)
    vector_ND = torch.zeros(len(vectors), extractor.encoder.width)
    vector_ND[:, : len(vectors[0])] = torch.tensor(vectors)
    nowhere = torch.zeros(1, dtype=torch.long)
    bags = BagIndex(bag_N=nowhere.expand(len(vectors)), head_B=nowhere, tail_B=nowhere)
    place = np.zeros(1, np.int64)
    return Encoded(extractor=extractor, vector_ND=vector_ND, bags=bags, bag_F=place, relation_F=place)


class SummingSentences(Encoded):
    """A model by hand: the logit is the sum of the first numbers of the sentences' vectors, minus 1."""

    def probability(self, sentences: Rows, facts: np.ndarray | slice = slice(None)) -> np.ndarray:
        value_N = self.vector_ND[:, 0].numpy()
        return sigmoid(np.array([value_N[sentences.row(row)].sum() - 1.0 for row in range(len(sentences))]))


def support(vectors: list[list[float]], bias: float):
    encoded = encoded_by_hand(vectors, bias)
    ranked = Rows(np.arange(len(vectors)), np.array([0, len(vectors)]))
    return smallest_sets(encoded, ranked, encoded.probability(ranked), 0.5)


def test_one_sentence_that_alone_keeps_the_prediction_is_the_smallest_set() -> None:
    found = support([[9.0], [0.0], [0.0]], bias=-1.0)
    assert (found.size_F.tolist(), found.kinds) == ([1], ["one_sentence"])
    assert found.with_set_F[0] == pytest.approx(1 / (1 + np.exp(-8.0)))
    assert found.without_set_F[0] == pytest.approx(1 / (1 + np.exp(1.0)))


def test_other_sentences_that_keep_the_prediction_too_make_it_several() -> None:
    found = support([[9.0], [8.0]], bias=-1.0)
    assert (found.size_F.tolist(), found.kinds) == ([1], ["several_sentences"])


def test_sentences_that_are_each_enough_are_counted() -> None:
    found = support([[9.0], [8.0], [7.0], [-9.0]], bias=-1.0)
    assert (found.size_F.tolist(), found.kinds) == ([1], ["several_sentences"])
    assert found.num_enough_F.tolist() == [3]


def test_one_sentence_that_is_enough_and_others_that_are_so_only_together_are_not_each_enough() -> None:
    encoded = SummingSentences(**vars(encoded_by_hand([[9.0], [1.0], [1.0]], bias=-1.0)))
    ranked = Rows(np.arange(3), np.array([0, 3]))
    found = smallest_sets(encoded, ranked, encoded.probability(ranked), 0.6)
    assert (found.size_F.tolist(), found.kinds) == ([1], ["sentences_together"])
    assert found.without_set_F[0] == pytest.approx(1 / (1 + np.exp(-1.0)))
    assert found.num_enough_F.tolist() == [1]


def test_sentences_are_counted_only_where_the_others_keep_the_prediction_too() -> None:
    assert support([[9.0], [0.0], [0.0]], bias=-1.0).num_enough_F.tolist() == [-1]
    assert support([[0.0], [0.1]], bias=3.0).num_enough_F.tolist() == [-1]


def test_what_is_predicted_without_any_sentence_does_not_rest_on_them() -> None:
    found = support([[0.0], [0.1]], bias=3.0)
    assert (found.size_F.tolist(), found.kinds) == ([0], ["not_sentences"])


def test_a_fact_below_the_threshold_has_an_empty_set() -> None:
    found = support([[0.5], [0.0]], bias=-3.0)
    assert (found.size_F.tolist(), found.kinds) == ([0], ["not_predicted"])


def test_a_bag_of_one_sentence_has_that_sentence_as_its_set() -> None:
    found = support([[9.0]], bias=-1.0)
    assert (found.size_F.tolist(), found.kinds) == ([1], ["one_sentence"])


def test_sentences_that_only_count_together_are_all_in_the_set() -> None:
    found = support([[-4.0], [9.0]], bias=-1.0)
    assert (found.size_F.tolist(), found.kinds) == ([2], ["sentences_together"])


def test_a_prediction_that_sentences_only_raise_does_not_rest_on_them() -> None:
    found = support([[3.0]], bias=0.5)
    assert (found.size_F.tolist(), found.kinds) == ([1], ["not_sentences"])


def test_probabilities_of_exactly_one_and_zero_are_fine() -> None:
    sure = support([[2000.0], [0.0]], bias=-1.0)
    assert (sure.with_set_F[0], sure.kinds) == (1.0, ["one_sentence"])
    never = support([[0.0], [0.0]], bias=-2000.0)
    assert (never.with_set_F[0], never.kinds) == (0.0, ["not_predicted"])
