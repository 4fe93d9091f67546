import random

from sayso.invent.phrase import HEAD, TAIL, THIRD, Phraser, natural_text
from sayso.invent.relations import RELATIONS, Wording, all_wordings

BYSTANDERS = {"person": ["Ann Bo"], "place": ["Oz"], "country": ["Ur"], "org": ["the Fund"]}


def phraser(seed: int = 1) -> Phraser:
    return Phraser(BYSTANDERS, random.Random(seed))


def test_the_sentence_contains_its_wording_word_for_word() -> None:
    draft = phraser().sentence(Wording("x", "{head} lies near {tail}", ()))
    assert f" {HEAD} lies near {TAIL} " in f" {' '.join(draft.tokens)} "
    assert draft.tokens[-1] == "."


def test_no_slot_is_left_open_in_any_sentence() -> None:
    made = phraser()
    for name in RELATIONS:
        for wording in all_wordings()[name]:
            tokens = made.sentence(wording).tokens
            assert HEAD in tokens
            assert TAIL in tokens
            assert not any("{" in token for token in tokens)


def test_a_third_entity_is_named_only_where_asked_for() -> None:
    wording = Wording("x", "{head} lies near {tail}", ())
    assert all(THIRD in phraser(seed).sentence(wording, with_third=True).tokens for seed in range(20))
    assert not any(THIRD in phraser(seed).sentence(wording).tokens for seed in range(20))


def test_sentences_are_as_long_as_those_of_fb_nyt_on_average() -> None:
    made = phraser()
    texts = [wording for name in RELATIONS for wording in all_wordings()[name]] * 4
    lengths = [len(made.sentence(wording).tokens) for wording in texts]
    assert 33 <= sum(lengths) / len(lengths) <= 42
    assert max(lengths) > 55
    assert min(lengths) < 20


def test_punctuation_joins_the_word_and_spans_point_at_the_names() -> None:
    made = natural_text(["in", "H", "'s", "town", ",", "T", "and", "H", "met", "."], {"H": "Ann Bo", "T": "Oz"})
    assert made.text == "In Ann Bo's town, Oz and Ann Bo met."
    assert [made.text[a:b] for a, b in made.spans["H"]] == ["Ann Bo", "Ann Bo"]
    assert [made.text[a:b] for a, b in made.spans["T"]] == ["Oz"]


def test_a_name_at_the_start_keeps_its_own_case() -> None:
    assert natural_text(["H", "left", "."], {"H": "eBo"}).text == "eBo left."
