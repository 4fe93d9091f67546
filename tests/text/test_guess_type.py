from sayso.text.guess_type import Context, guess_types


def entities(num: int) -> tuple[dict[str, tuple[str, ...]], dict[str, list[Context]], dict[str, list[str]]]:
    """People called `… Holt` of whom things are said, and cities in which things happen."""
    names: dict[str, tuple[str, ...]] = {}
    contexts: dict[str, list[Context]] = {}
    types: dict[str, list[str]] = {}
    for number in range(num):
        names[f"p{number}"], names[f"c{number}"] = (f"N{number} Holt",), (f"Port M{number}",)
        contexts[f"p{number}"] = [(["yesterday", ","], ["said", "that"])]
        contexts[f"c{number}"] = [(["lives", "in"], ["since", "1987"])]
        types[f"p{number}"], types[f"c{number}"] = ["/person", "/person/artist"], ["/location/city"]
    return names, contexts, types


def test_entities_without_a_type_get_that_of_their_like_and_the_accuracy_is_told() -> None:
    names, contexts, types = entities(30)
    del types["p3"]
    types["c4"] = []
    guesses = guess_types(contexts, names, types, seed=13)
    assert {entity_id: guess.type for entity_id, guess in guesses.types.items()} == {
        "p3": "/person/artist",
        "c4": "/location/city",
    }
    assert guesses.accuracy == guesses.share_guessed == 1
    assert (guesses.num_held_out, guesses.num_learnt_from) == (6, 52)


def test_entities_that_the_corpus_does_not_have_get_none() -> None:
    names, contexts, types = entities(30)
    del types["p3"], contexts["p3"]
    assert guess_types(contexts, names, types, seed=13).types == {}


def test_an_entity_like_none_is_left_without_a_type() -> None:
    names, contexts, types = entities(30)
    names["q"], contexts["q"] = ("Zzz",), [([""], [""])]
    probability = guess_types(contexts, names, types, seed=13).types.get("q")
    assert probability is None or probability.probability >= 0.5


def test_too_few_typed_entities_teach_nothing() -> None:
    names, contexts, types = entities(9)
    del types["p3"]
    guesses = guess_types(contexts, names, types, seed=13)
    assert guesses.types == {}
    assert guesses.accuracy is None
