import numpy as np
import pytest
import torch

from sayso.evaluate.evaluation import Evaluation
from sayso.explain import EXPLAINERS, mechanisms_named
from sayso.explain.facts import explain_part
from sayso.explain.faithfulness import KEEPS_WITHIN, sigmoid
from sayso.explain.trained_run import TrainedRun
from sayso.features.batch import collate
from sayso.model.predict import predict_logits
from sayso.store.rows import Rows


def probability_of(subject: TrainedRun, bag: int, relation: int, sentences: np.ndarray) -> float:
    """Return the probability with these sentences only, by the plain forward pass."""
    batch = collate(subject.part, np.array([bag]), Rows(sentences, np.array([0, len(sentences)])))
    with torch.no_grad():
        return float(subject.model.extractor(batch).sigmoid()[0, relation])


@pytest.fixture(params=[0, 1], ids=["CNNs+ATT+F", "DirectSup"])
def run(request: pytest.FixtureRequest, evaluations: list[Evaluation]) -> Evaluation:
    return evaluations[request.param]


def test_every_label_every_predicted_fact_and_every_marked_one_is_explained(run: Evaluation) -> None:
    found = set(zip(run.explained.bag_F.tolist(), run.explained.relation_F.tolist(), strict=True))
    probability_BR = sigmoid(predict_logits(run.subject.model.extractor, run.subject.part))
    wanted = {tuple(pair) for pair in np.argwhere(run.subject.label_BR | (probability_BR >= run.settings.threshold))}
    assert found == wanted
    assert len(found) >= 12


def test_scores_are_those_of_the_mechanism_on_the_bag_alone(run: Evaluation) -> None:
    explained, extractor = run.explained, run.subject.model.extractor
    for fact in (0, len(explained.bag_F) - 1):
        batch = collate(run.subject.part, explained.bag_F[fact : fact + 1])
        with torch.no_grad():
            vector_ND = extractor.encode(batch.sentences)
        for name, score_E in explained.scores.items():
            score_N = EXPLAINERS[name].explain(extractor, vector_ND, batch.bags)[:, explained.relation_F[fact]]
            first, stop = explained.sentences.start[fact : fact + 2]
            np.testing.assert_allclose(score_E[first:stop], score_N.detach().numpy(), atol=1e-4)


def test_ranks_follow_the_scores_of_the_mechanism_that_ranks(run: Evaluation) -> None:
    explained = run.explained
    score_E = explained.scores[run.ranked_by]
    for first, stop in zip(explained.sentences.start, explained.sentences.start[1:], strict=False):
        ordered = score_E[first:stop][np.argsort(explained.rank_E[first:stop])]
        assert (np.diff(ordered) <= 0).all()
        assert sorted(explained.rank_E[first:stop].tolist()) == list(range(1, stop - first + 1))


def test_faithfulness_is_what_the_model_predicts_with_sentences_removed(run: Evaluation) -> None:
    explained = run.explained
    several = np.flatnonzero(explained.sentences.length > 1)
    assert len(several)
    for fact in several.tolist():
        bag, relation = int(explained.bag_F[fact]), int(explained.relation_F[fact])
        rows = explained.sentences.row(fact)
        rank = explained.rank_E[explained.sentences.start[fact] :][: len(rows)]
        top = rows[rank == 1]
        only = probability_of(run.subject, bag, relation, top)
        without = probability_of(run.subject, bag, relation, rows[rank != 1])
        assert explained.only_top[run.ranked_by][fact] == pytest.approx(only, abs=1e-5)
        assert explained.without_top[run.ranked_by][fact] == pytest.approx(without, abs=1e-5)


def test_the_smallest_set_keeps_the_prediction_and_no_shorter_prefix_does(run: Evaluation) -> None:
    explained, threshold = run.explained, run.settings.threshold
    predicted = np.flatnonzero(explained.probability_F >= threshold)
    assert len(predicted)
    for fact in predicted.tolist():
        floor = max(threshold, explained.probability_F[fact] - KEEPS_WITHIN) - 1e-6
        rows = explained.sentences.row(fact)
        rank = explained.rank_E[explained.sentences.start[fact] :][: len(rows)]
        size = int(explained.sufficient.size_F[fact])
        bag, relation = int(explained.bag_F[fact]), int(explained.relation_F[fact])
        for tried in range(1, size + 1):
            given = probability_of(run.subject, bag, relation, rows[rank <= tried])
            assert (given >= floor) == (tried == size)


def test_kinds_of_support_fit_the_probabilities(run: Evaluation) -> None:
    sufficient, threshold = run.explained.sufficient, run.settings.threshold
    assert set(sufficient.kinds) > {"not_predicted"}
    for fact, kind in enumerate(sufficient.kinds):
        assert (kind == "not_predicted") == (run.explained.probability_F[fact] < threshold)
        num_enough = int(sufficient.num_enough_F[fact])
        if kind in ("one_sentence", "sentences_together") and num_enough < 0:
            assert sufficient.without_set_F[fact] < threshold
            assert (kind == "one_sentence") == (sufficient.size_F[fact] == 1)
        if kind == "several_sentences" or num_enough >= 0:
            assert sufficient.without_set_F[fact] >= threshold
            assert (kind == "several_sentences") == (num_enough >= 2)
            bag, relation = int(run.explained.bag_F[fact]), int(run.explained.relation_F[fact])
            alone = [probability_of(run.subject, bag, relation, one[None]) for one in run.explained.sentences.row(fact)]
            assert num_enough == sum(probability >= threshold for probability in alone)
        if kind == "not_sentences":
            assert sufficient.without_any_F[fact] >= threshold


def test_planted_distractors_have_a_rank_among_the_sentences_and_themselves(run: Evaluation) -> None:
    size_F = run.explained.sentences.length
    for rank_F in run.explained.planted_rank.values():
        assert not np.isnan(rank_F).any()
        assert ((rank_F >= 1) & (rank_F <= size_F + 1)).all()


def test_word_scores_are_given_for_the_first_sentences(run: Evaluation) -> None:
    words = run.words
    assert set(words.fact_W.tolist()) == set(range(len(run.explained.bag_F)))
    assert len(words.scores.value) == len(words.tokens.value)
    assert np.isfinite(words.scores.value).all()
    assert (words.scores.value != 0).any()


def test_faithfulness_keeps_and_removes_as_many_sentences_as_asked(run: Evaluation) -> None:
    facts_F2 = np.stack([run.explained.bag_F, run.explained.relation_F], axis=1)
    explained = explain_part(
        run.subject, facts_F2, mechanisms_named([run.ranked_by]), run.settings.threshold, num_top=2
    )
    size_F = explained.sentences.length
    fact = int(np.argmax(size_F))
    assert size_F[fact] > 2
    first, stop = explained.sentences.start[fact : fact + 2]
    rows = explained.sentences.value[first:stop][np.argsort(explained.rank_E[first:stop])]
    asked = run.subject, int(explained.bag_F[fact]), int(explained.relation_F[fact])
    assert explained.only_top[run.ranked_by][fact] == pytest.approx(probability_of(*asked, rows[:2]), abs=1e-5)
    assert explained.without_top[run.ranked_by][fact] == pytest.approx(probability_of(*asked, rows[2:]), abs=1e-5)
