from sayso.readers.survey import Surveyor, summarise
from toy import make_sentence


def surveyor(*sentences) -> Surveyor:
    result = Surveyor()
    for sentence in sentences:
        result.add(sentence)
    return result


def test_a_small_corpus_counted_by_hand() -> None:
    survey = summarise(
        [
            surveyor(
                make_sentence("a_b met c", "a_b", "c", ("r",)),
                make_sentence("a_b met c", "a_b", "c", ("s",)),
                make_sentence("a b met c", "c", "a", ()),
                make_sentence("c saw c saw d", "c", "d", ("r",)),
            )
        ],
        typed=["a_b", "c"],
    )
    assert survey.sentences == 4
    assert survey.distinct_sentences == 2  # joined names do not make another sentence
    assert survey.duplicate_sentences == 1
    assert survey.na_sentences == 1
    assert (survey.pairs, survey.positive_pairs, survey.facts, survey.relations) == (3, 2, 3, 2)
    assert (survey.entities, survey.untyped_entities) == (4, 2)
    assert survey.mentions_repeated == 1
    assert (survey.length_median, survey.length_max) == (3, 5)
    assert (survey.bag_size_mean, survey.bag_size_max, survey.bags_of_one) == (1.0, 1, 3)


def test_two_files_are_one_corpus() -> None:
    first, second = surveyor(make_sentence("h of t")), surveyor(make_sentence("h of t"), make_sentence("t by h"))
    whole = summarise([first, second])
    assert (whole.sentences, whole.pairs, whole.duplicate_sentences, whole.bag_size_max) == (3, 1, 1, 2)


def test_nothing_counts_as_nothing() -> None:
    survey = summarise([Surveyor()])
    assert (survey.sentences, survey.pairs, survey.bag_size_mean, survey.length_max) == (0, 0, 0.0, 0)
