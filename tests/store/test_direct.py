from sayso.records import Source
from sayso.store.direct import (
    CorpusForm,
    argument_types,
    corpus_form,
    direct_types,
    in_form,
    in_text_order,
    label_of,
    rewrite,
)
from sayso.store.vocabulary import Vocabulary
from toy import group_by_pair, make_sentence

JOINED = CorpusForm(is_lower=True, is_joined=True)


def test_a_corpus_of_lower_case_and_joined_names_is_recognised() -> None:
    vocabulary = Vocabulary()
    table = group_by_pair([make_sentence("el_paso is in texas", "el_paso", "texas")], vocabulary).table
    assert corpus_form(table, list(vocabulary.words), ["el_paso", "texas"]) == JOINED


def test_a_corpus_as_people_write_stays_as_it_is() -> None:
    vocabulary = Vocabulary()
    table = group_by_pair([make_sentence("El Paso is in Texas", "El Paso", "Texas")], vocabulary).table
    form = corpus_form(table, list(vocabulary.words), ["El Paso", "Texas"])
    assert form == CorpusForm(is_lower=False, is_joined=False)
    sentence = make_sentence("El Paso is in Texas", "El Paso", "Texas")
    assert in_form(sentence, form) == sentence


def test_mentions_are_joined_and_their_spans_move() -> None:
    sentence = in_form(make_sentence("In El Paso , Jo Ann Lee met El Paso folk", "El Paso", "Jo Ann Lee"), JOINED)
    assert sentence.text == "in el_paso , jo_ann_lee met el_paso folk"
    assert [sentence.tokens[s:e] for s, e in sentence.head.spans] == [("el_paso",), ("el_paso",)]
    assert [sentence.tokens[s:e] for s, e in sentence.tail.spans] == [("jo_ann_lee",)]
    assert sentence.tail.name == "jo_ann_lee"


def test_where_names_are_joined_nothing_is_said_about_how_tokens_are_written() -> None:
    sentence = make_sentence("( El Paso ) saw t", "El Paso", "t")._replace(source=Source("d", 3, 9, (1, 3)))
    assert in_form(sentence, JOINED).source == Source("d", 3, 9)
    assert in_form(sentence, JOINED).written == "( el_paso ) saw t"


def test_names_that_would_be_no_known_word_or_are_joined_in_part_stay_as_they_are() -> None:
    sentence = make_sentence("San_Jose Bay and El Paso near New York", "El Paso", "New York")
    written = rewrite(sentence, JOINED, {"el_paso"})
    assert written.text == "san_jose bay and el_paso near new york"
    assert [written.head.spans, written.tail.spans] == [((3, 4),), ((5, 7),)]
    partly = make_sentence("San_Jose Bay and rome", "San_Jose Bay", "rome")
    assert rewrite(partly, JOINED, {"san_jose_bay"}).text == "san_jose bay and rome"


def test_a_word_that_is_known_only_with_its_capital_keeps_it() -> None:
    sentence = make_sentence("Émile of Paris", "Émile", "Paris")
    assert rewrite(sentence, JOINED, {"Émile", "Paris", "paris"}).text == "Émile of paris"


def test_a_label_is_one_relation_with_its_direction_in_the_text_or_none() -> None:
    forward = make_sentence("ann works at acme", "ann", "acme", ("per:employee_of",), 1.0)
    backward = make_sentence("acme hired ann", "ann", "acme", ("per:employee_of",), 1.0)
    assert label_of(forward, "tagged") == "per:employee_of(e1,e2)"
    assert label_of(backward, "tagged") == "per:employee_of(e2,e1)"
    assert label_of(make_sentence("ann saw acme", "ann", "acme", (), 0.0), "tagged") == "no_relation"


def test_sentences_without_one_clear_relation_have_no_label() -> None:
    one = make_sentence("ann works at acme", "ann", "acme", ("per:employee_of",), 1.0)
    assert label_of(one, "crowdtruth") == ""
    assert label_of(one._replace(relations=("r", "s")), "jsonl") == ""
    assert label_of(one._replace(expresses=0.7), "jsonl") == ""
    assert label_of(one._replace(expresses=None), "jsonl") == ""
    assert label_of(one._replace(relations=()), "jsonl") == ""


def test_in_text_order_every_sentence_is_a_bag_whose_head_comes_first() -> None:
    texts = ("ann works at acme with ann", "acme hired ann", "at acme works ann")
    sentences = [make_sentence(text, "ann", "acme", (), 1.0) for text in texts]
    vocabulary = Vocabulary()
    table = in_text_order(group_by_pair(sentences, vocabulary).table)
    ann, acme = vocabulary.entities["ann"], vocabulary.entities["acme"]
    assert table.head_B.tolist() == [ann, acme, acme]
    assert table.tail_B.tolist() == [acme, ann, ann]
    assert [table.head_spans.row(n).tolist() for n in range(3)] == [[0, 1, 5, 6], [0, 1], [1, 2]]
    assert [table.tail_spans.row(n).tolist() for n in range(3)] == [[3, 4], [2, 3], [3, 4]]
    assert table.size_B.tolist() == [1, 1, 1]


def test_types_come_by_name_then_from_the_label_then_from_the_urn() -> None:
    sentences = [
        make_sentence("ann works at acme", "ann", "acme", ("per:employee_of",), 1.0),
        make_sentence("bob saw rome", "bob", "rome", (), 0.0),
    ]
    corpus = {"m.1": ("/location/city", "/location"), "m.2": ("/person",), "m.3": ("/organization",)}
    types = direct_types(sentences, corpus, {"m.1": "rome", "m.2": "zoe", "m.3": "who"}, seed=1)
    assert types["rome"] == ("/location/city", "/location")
    assert types["ann"] == ("/person",)
    assert types["acme"] == ("/organization",)
    assert types["bob"] in {types["rome"], types["ann"], types["acme"]}


def test_no_type_is_given_that_only_direct_data_has() -> None:
    sentences = [make_sentence("ann of rome", "ann", "rome", ("per:cities_of_residence",))]
    types = direct_types(sentences, {"m.1": ("/location",)}, {"m.1": "oslo"}, seed=1)
    assert types["rome"] == ("/location",)


def test_arguments_of_tac_relations() -> None:
    assert argument_types("org:founded_by") == ("/organization", "/person")
    assert argument_types("per:stateorprovinces_of_residence") == ("/person", "/location/province")
    assert argument_types("/location/contains") == ("", "")
