from sayso.documents.guess_type import Guesses, guess_types

Contexts = dict[str, str]


def guessed(contexts: Contexts, names: dict[str, tuple[str, ...]], types: dict[str, list[str]]) -> Guesses:
    lines = [f"{entity_id}\t{around}\n" for entity_id, around in contexts.items()]
    return guess_types(lambda: lines, names, types, seed=13)


def entities(num: int) -> tuple[dict[str, tuple[str, ...]], Contexts, dict[str, list[str]]]:
    """People called `… Holt` of whom things are said, and cities in which things happen."""
    names: dict[str, tuple[str, ...]] = {}
    contexts: Contexts = {}
    types: dict[str, list[str]] = {}
    for number in range(num):
        names[f"p{number}"], names[f"c{number}"] = (f"N{number} Holt",), (f"Port M{number}",)
        contexts[f"p{number}"] = "yesterday ,\tsaid that"
        contexts[f"c{number}"] = "lives in\tsince 1987"
        types[f"p{number}"], types[f"c{number}"] = ["/person", "/person/artist"], ["/location/city"]
    return names, contexts, types


def test_entities_without_a_type_get_that_of_their_like_and_the_accuracy_is_told() -> None:
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
