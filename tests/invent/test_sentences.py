import random
from collections.abc import Iterator

import pytest

from sayso.invent.articles import natural_text
from sayso.invent.plan import CorpusPlan, make_plan
from sayso.invent.relations import RELATIONS, SCENES, Wording, all_wordings, strongest
from sayso.invent.sentences import HEAD, TAIL, THIRD, MadeSentence, Phraser, Sampler
from sayso.invent.settings import InventSettings

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


@pytest.fixture(scope="module")
def plan() -> CorpusPlan:
    return make_plan(InventSettings.of_size("toy", shared_share=0.1))


@pytest.fixture(scope="module")
def bags(plan: CorpusPlan) -> list[list[MadeSentence]]:
    return list(sampled(plan))


def sampled(plan: CorpusPlan) -> Iterator[list[MadeSentence]]:
    phraser = Phraser(plan.bystanders, random.Random(1))
    return Sampler(plan.entities, all_wordings(), phraser, random.Random(2)).lines(plan.train)


def test_spans_point_at_the_names_and_text_is_lower_case(bags: list[list[MadeSentence]]) -> None:
    for bag in bags:
        for made in bag:
            sentence = made.sentence
            for mention in (sentence.head, sentence.tail):
                assert mention.spans
                assert all(sentence.tokens[start:stop] == (mention.name,) for start, stop in mention.spans)
            assert sentence.text == sentence.text.lower()


def test_a_bag_has_no_sentence_twice(bags: list[list[MadeSentence]]) -> None:
    assert all(len({made.sentence.text for made in bag}) == len(bag) for bag in bags)


def test_a_sentence_states_no_relation_that_its_pair_has_not(bags: list[list[MadeSentence]]) -> None:
    for bag in bags:
        for made in bag:
            assert set(made.wording.states) <= set(made.sentence.relations)


def test_a_stated_relation_is_stated_by_one_of_its_wordings(bags: list[list[MadeSentence]]) -> None:
    for bag in bags:
        for made in bag:
            if made.wording.states:
                relation = strongest(made.wording.states)[0]
                first_words = made.wording.text.split("{")[0].split()
                assert made.wording.text in RELATIONS[relation].stating
                assert set(first_words) <= set(made.sentence.tokens)


def test_a_supported_bag_states_each_label_and_an_unsupported_one_none(plan: CorpusPlan) -> None:
    made = sampled(plan)
    for bag in plan.train.bags:
        sentences = next(made)
        if bag.guest:
            next(made)
        stated = {relation for sentence in sentences for relation in sentence.wording.states}
        if bag.is_supported and bag.size >= len(strongest(bag.pair.relations)):
            assert stated == set(bag.pair.relations)
        elif not bag.is_supported:
            assert not stated


def test_positive_and_na_bags_share_the_wordings_that_state_nothing(bags: list[list[MadeSentence]]) -> None:
    used: dict[bool, set[str]] = {True: set(), False: set()}
    for bag in bags:
        for made in bag:
            if made.wording.id.split("#")[0] in SCENES:
                used[bool(made.sentence.relations)].add(made.wording.id)
    assert len(used[True] & used[False]) > 0.6 * len(used[True] | used[False])


def test_a_guest_shares_a_sentence_with_the_bag_before_it(plan: CorpusPlan, bags: list[list[MadeSentence]]) -> None:
    shared = {}
    for bag in bags:
        for made in bag:
            shared.setdefault(made.sentence.text.replace("_", " "), []).append(made.sentence)
    pairs = [sentences for sentences in shared.values() if len(sentences) > 1]
    assert len(pairs) == sum(bag.guest is not None for bag in plan.train.bags) > 50
    for host, guest in pairs:
        assert host.head.entity_id == guest.head.entity_id
        assert host.relations
        assert not guest.relations
