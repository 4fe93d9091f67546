from pathlib import Path
from shutil import copytree

import pytest

from resealed import rewrite
from sayso.errors import BadInputError
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.predictions.table import PredictionQuery, PredictionTable
from toy_predictions import MECHANISMS, NUM_WITH_WORDS


@pytest.fixture
def capital(run: RunPredictions) -> int:
    """The index of a fact above the threshold, with three sentences."""
    found = run.index.find_all(PredictionQuery(relation="capital", q="land", label="yes", min_probability=0.5))
    return int(found[0])


def test_sentences_come_by_rank_with_every_score(run: RunPredictions, capital: int) -> None:
    evidence = run.explanation(capital).evidence
    assert [each.rank for each in evidence] == [1, 2, 3]
    assert all(set(each.scores) == set(MECHANISMS) for each in evidence)
    shapley = [each.scores["shapley"] for each in evidence]
    assert shapley == sorted(shapley, reverse=True)


def test_what_the_model_saw_has_types_for_mentions(run: RunPredictions, capital: int) -> None:
    (told,) = [each for each in run.explanation(capital).evidence if "is the capital of" in each.sentence.text]
    assert told.seen == ("/tail", "is", "the", "capital", "of", "/head", ".")
    assert len(told.word_scores) == len(told.seen)


@pytest.mark.parametrize("mentions", [None, "wrods", 5])
def test_a_model_whose_settings_do_not_say_how_mentions_appear_is_named(
    run: RunPredictions, capital: int, mentions: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "folder", copytree(run.folder, tmp_path / "run"))
    run.__dict__.pop("_model", None)
    (config,) = (tmp_path / "run").glob("**/config.json")
    rewrite(config, mentions=mentions)
    with pytest.raises(BadInputError, match=r"config\.json: mentions: .*train the run again"):
        run.explanation(capital)


def test_words_have_scores_in_the_first_sentences_only(run: RunPredictions) -> None:
    for row in range(run.index.num_facts):
        for each in run.explanation(row).evidence:
            assert bool(each.word_scores) == (each.rank <= NUM_WITH_WORDS)


@pytest.mark.parametrize(("column", "num_enough"), [({}, None), ({"num_enough": -1}, None), ({"num_enough": 2}, 2)])
def test_sentences_that_are_each_enough_are_those_counted_by_the_evaluation(
    run: RunPredictions, capital: int, column: dict[str, int], num_enough: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = run.fact(capital)
    monkeypatch.setattr(run, "fact", lambda row: fact | column)
    assert run.explanation(capital).support.num_enough == num_enough


def test_every_fact_says_what_its_row_says(run: RunPredictions) -> None:
    for row in run.index.rows(run.index.find_all(PredictionQuery())):
        explanation = run.explanation(row.number)
        assert explanation.head_name == row.head_name
        assert explanation.relation == row.relation
        assert explanation.probability == row.probability
        assert explanation.is_label == row.is_label
        assert len(explanation.evidence) == row.num_sentences


def test_a_fact_without_a_planted_sentence_has_no_rank(run: RunPredictions) -> None:
    assert {test.rank for test in run.planted(0)} == {None}
    assert {test.rank for test in run.planted(1)} == {2.0}
    assert {test.num for test in run.planted(1)} == {run.fact(1)["num_sentences"] + 1}


def test_the_first_sentence_is_worth_what_the_index_says(run: RunPredictions, capital: int) -> None:
    top = {each.mechanism: each for each in run.top_sentences(capital)}["shapley"]
    (row,) = PredictionTable(run.predictions).rows(run.index.find_all(PredictionQuery())[:1] * 0 + capital)
    assert row.faithfulness == pytest.approx(row.probability - top.removed)
