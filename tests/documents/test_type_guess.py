import numpy as np
from sklearn.linear_model import LogisticRegression

from sayso.documents.type_guess import NUM_FEATURES, Guesses, fit, guess_types, probabilities

Contexts = dict[str, str]


def guessed(contexts: Contexts, names: dict[str, tuple[str, ...]], types: dict[str, list[str]]) -> Guesses:
    lines = [f"{entity_id}\t{around}\n" for entity_id, around in contexts.items()]
    return guess_types(lambda: lines, names, types, seed=13)


def entities(num: int) -> tuple[dict[str, tuple[str, ...]], Contexts, dict[str, list[str]]]:
    """People called `… Holt` and cities, each in typical contexts."""
    names: dict[str, tuple[str, ...]] = {}
    contexts: Contexts = {}
    types: dict[str, list[str]] = {}
    for number in range(num):
        names[f"p{number}"], names[f"c{number}"] = (f"N{number} Holt",), (f"Port M{number}",)
        contexts[f"p{number}"] = "yesterday ,\tsaid that"
        contexts[f"c{number}"] = "lives in\tsince 1987"
        types[f"p{number}"], types[f"c{number}"] = ["/person", "/person/artist"], ["/location/city"]
    return names, contexts, types


def test_untyped_entities_get_the_type_of_similar_ones_and_the_accuracy_is_reported() -> None:
    names, contexts, types = entities(30)
    del types["p3"]
    types["c4"] = []
    guesses = guessed(contexts, names, types)
    assert {entity_id: guess.type for entity_id, guess in guesses.types.items()} == {
        "p3": "/person/artist",
        "c4": "/location/city",
    }
    assert guesses.accuracy == guesses.share_guessed == 1
    assert (guesses.num_held_out, guesses.num_learnt_from) == (6, 52)


def test_entities_that_the_corpus_does_not_have_get_none() -> None:
    names, contexts, types = entities(30)
    del types["p3"], contexts["p3"]
    assert guessed(contexts, names, types).types == {}


def test_where_all_have_one_type_nothing_is_guessed() -> None:
    names, contexts, types = entities(30)
    types = {entity_id: ["/thing"] for entity_id in types if entity_id != "p3"}
    assert guessed(contexts, names, types) == Guesses({})


def test_too_few_typed_entities_teach_nothing() -> None:
    names, contexts, types = entities(9)
    del types["p3"]
    guesses = guessed(contexts, names, types)
    assert guesses.types == {}
    assert guesses.accuracy is None


def rows_of(seed: int, num: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows of 3 classes, each with a distinctive feature in two of three cases, and noise."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, num)
    rows = []
    for label in classes:
        telling = [int(label)] if rng.random() < 2 / 3 else []
        rows.append(np.array(sorted({*telling, *rng.integers(10, 60, 4).tolist()})))
    return rows, classes


def test_it_is_as_accurate_as_a_reference_on_unseen_rows() -> None:
    rows, classes = rows_of(0, 600)
    fresh, expected = rows_of(1, 600)
    found = probabilities(fit(rows, classes, 3, seed=13), fresh)

    def dense(rows: list[np.ndarray]) -> np.ndarray:
        return np.array([np.isin(np.arange(60), row) for row in rows], float)

    reference = LogisticRegression().fit(dense(rows), classes).score(dense(fresh), expected)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    assert (found.argmax(axis=1) == expected).mean() > reference - 0.04


def test_the_same_seed_gives_the_same_model() -> None:
    rows, classes = rows_of(0, 100)
    assert np.array_equal(fit(rows, classes, 3, 5), fit(rows, classes, 3, 5))
    assert fit(rows, classes, 3, 5).shape == (NUM_FEATURES, 3)
