import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.document import Document, GivenMention
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.link import Linker
from sayso.documents.markup import without_markup
from sayso.documents.mention import DocumentReader, MentioningSentence, cut_at, spans_of, spelling
from sayso.documents.settings import ReadingOptions
from sayso.facts.quote import quote_of
from sayso.records import Sentence, Source, Span, as_written
from sayso.tokens import tokenise, tokenise_with_starts

NAMES = {"ana": ("Ana Diaz", "Ana"), "rome": ("Rome",), "oslo": ("Oslo",), "x": ("Holt",), "y": ("Holt",)}


def reader(max_tokens: int = 50, window: int = 1) -> DocumentReader:
    options = ReadingOptions(window=window)
    return DocumentReader(Gazetteer(NAMES).find, Linker(NAMES), NAMES, max_tokens, options=options)


def read(text: str, *mentions: GivenMention) -> list[MentioningSentence]:
    return list(reader().sentences(Document("d", text, mentions or None)))


def test_only_sentences_with_two_entities_come_with_their_place() -> None:
    text = "Ana Diaz sings. Ana left Rome for Oslo. Rome is old."
    (sentence,) = read(text)
    assert text[sentence.source.start : sentence.source.stop] == "Ana left Rome for Oslo."
    assert [entity.mention.entity_id for entity in sentence.entities] == ["ana", "rome", "oslo"]


def test_two_names_of_one_entity_are_one_mention_with_two_spans() -> None:
    text = "Ana Diaz, called Ana, left Rome."
    (sentence,) = read(text)
    ana = sentence.entities[0]
    assert ana.mention.name == "Ana Diaz"
    assert [" ".join(sentence.tokens[a:b]) for a, b in ana.mention.spans] == ["Ana Diaz", "Ana"]
    assert [text[a:b] for a, b in ana.places] == ["Ana Diaz", "Ana"]


def test_a_sentence_whose_only_other_name_is_ambiguous_gives_nothing_and_is_counted() -> None:
    one = reader()
    assert not list(one.sentences(Document("d", "Holt left Rome.")))
    assert (one.counts["ambiguous names"], one.counts["ambiguous names resolved"]) == (1, 0)
    assert one.ambiguous == {"Holt": 1}


def test_the_rest_of_a_name_that_nobody_knows_is_not_resolved() -> None:
    names = NAMES | {"x": ("Bo Holt", "Holt")}
    one = DocumentReader(Gazetteer(names).find, Linker(names), names, 50)
    text = "Bo Holt sings. Cy Holt left Rome. Holt loves Oslo."
    (sentence,) = one.sentences(Document("d", text))
    assert [entity.mention.entity_id for entity in sentence.entities] == ["x", "oslo"]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Ana sings. Rome is old.", [("Ana sings. Rome is old.", {"ana"}, {"rome"})]),
        ("Ana sings. It rained. Rome is old.", []),
        ("Ana sings.\n\nRome is old.", []),
        ("Ana left Rome. Rome is old.", []),  # Rome alone is new in neither
        ("Ana left Rome. Ana loves Oslo.", [("Ana left Rome. Ana loves Oslo.", {"rome"}, {"oslo"})]),
        (
            "Ana sings. Rome is old. Oslo is big.",
            [
                ("Ana sings. Rome is old.", {"ana"}, {"rome"}),
                ("Rome is old. Oslo is big.", {"rome"}, {"oslo"}),
            ],
        ),
    ],
)
def test_two_neighbouring_sentences_of_a_paragraph_pair_what_only_one_of_them_names(
    text: str, pairs: list[tuple[str, set[str], set[str]]]
) -> None:
    one = reader(window=2)
    found = [each for each in one.sentences(Document("d", text)) if each.first]
    ids = [{entity.mention.entity_id for entity in each.entities} for each in found]
    assert [
        (text[each.source.start : each.source.stop], set(each.first), every - each.first)
        for each, every in zip(found, ids, strict=True)
    ] == pairs
    assert one.counts["neighbouring sentences with pairs"] == len(pairs)
    for each in found:
        for entity in each.entities:
            assert [" ".join(each.tokens[a:b]) for a, b in entity.mention.spans] == [
                text[a:b] for a, b in entity.places
            ]
    without = list(reader(window=1).sentences(Document("d", text)))
    assert [each for each in reader(window=2).sentences(Document("d", text)) if not each.first] == without


def test_two_sentences_that_are_too_long_together_are_left_out() -> None:
    assert list(reader(8, window=2).sentences(Document("d", "Ana sings and sings. Rome is old."))) == []


def test_places_count_characters_of_the_document_with_its_markup() -> None:
    text = "<p>Ana <b>Diaz</b> left R&#111;me.</p>"
    (sentence,) = read(text)
    assert sentence.tokens == ("Ana", "Diaz", "left", "Rome", ".")
    assert [text[slice(*entity.places[0])] for entity in sentence.entities] == ["Ana <b>Diaz", "R&#111;me"]
    assert text[sentence.source.start : sentence.source.stop] == "Ana <b>Diaz</b> left R&#111;me."


def test_mentions_that_come_with_the_document_are_taken_instead_of_names() -> None:
    text = "She left Rome, he stayed in Oslo."
    (sentence,) = read(text, GivenMention(0, 3, "ana"), GivenMention(8, 13, "rome"))
    assert [(entity.mention.entity_id, entity.mention.name) for entity in sentence.entities] == [
        ("ana", "Ana Diaz"),
        ("rome", "Rome"),
    ]
    assert sentence.entities[1].mention.spans == (Span(2, 3),)


def test_a_name_beside_a_hyphen_is_a_token_of_its_own() -> None:
    (sentence,) = read("The Rome-based Ana sings.")
    assert sentence.tokens == ("The", "Rome", "-based", "Ana", "sings", ".")


@pytest.mark.parametrize(
    "text",
    [
        "Ana Diaz, of Rome (Italy), sings.",
        "In Rome's  old town,\n“Ana’s\u00a0here,” they don’t say.",
        "The Rome-based Ana/Oslo show, at 9:30...",
        "Tokenised already : Ana 's off to Rome , he 's here .",
        "ROME: Ana, D'Arc—and Oslo’s—won.",
    ],
)
def test_a_sentence_is_written_as_the_document_writes_it(text: str) -> None:
    (found,) = read(f"So it is.\n\n{text}\n\nIt is.")
    sentence = Sentence(found.tokens, *(each.mention for each in found.entities[:2]), source=found.source)
    assert sentence.written == " ".join(text.split())
    assert quote_of(sentence, 1, 0.5).exact in sentence.written


def test_markup_between_words_is_not_written_and_does_not_part_them() -> None:
    text = "<p>Ana <b>Diaz</b>&#8217;s R&#111;me<i>, too</i>.</p>"
    (found,) = read(text)
    sentence = Sentence(found.tokens, *(each.mention for each in found.entities), source=found.source)
    assert sentence.written == "Ana Diaz’s Rome, too." == without_markup(text).text.strip()


def test_a_sentence_that_is_too_long_is_left_out_and_counted() -> None:
    one = reader(max_tokens=10)
    assert not list(one.sentences(Document("d", "Ana and Rome " + "and so on " * 9)))
    assert one.counts["sentences too long"] == 1


def test_a_long_document_gives_what_its_parts_give() -> None:
    text = "\n\n".join(f"Ana left Rome in year {number}." for number in range(9_000))
    found = read(text)
    assert len(text) > 200_000
    assert [text[s.source.start : s.source.stop] for s in found] == text.split("\n\n")


@pytest.mark.parametrize("piece", ["Ana left Rome and Holt, ", "Holt ", "the word ", "Rome", '<a title="'])
def test_a_sentence_without_end_is_counted_in_time_proportional_to_its_length(piece: str) -> None:
    one = reader()
    assert not list(one.sentences(Document("d", piece * (250_000 // len(piece)))))
    assert one.counts["sentences too long"] == (3 if "Ana" in piece else 0)


texts = st.text(st.sampled_from("ab.,'’s()\" \n-T"), max_size=40) | st.text(max_size=20)


@given(texts)
def test_tokens_are_those_of_every_other_command_and_stand_where_they_are_said_to(text: str) -> None:
    tokens, starts = tokenise_with_starts(text)
    assert tokens == tokenise(text)
    for token, start in zip(tokens, starts, strict=True):
        assert text[start : start + len(token)].replace("’", "'") == token.replace("’", "'")


@given(texts, st.data())
def test_spans_are_whole_tokens_once_tokens_are_cut_at_their_edges(text: str, data: st.DataObject) -> None:
    solid = [i for i, letter in enumerate(text) if not letter.isspace()]
    if not solid:
        return
    start = data.draw(st.sampled_from(solid))
    stop = data.draw(st.sampled_from([i for i in solid if i >= start])) + 1
    tokens, starts = cut_at(*tokenise_with_starts(text), (start, stop))
    (span,) = spans_of([(start, stop)], starts)
    expected = "".join(text[start:stop].split()).replace("’", "'")
    assert "".join(tokens[span.start : span.stop]).replace("’", "'") == expected


@given(texts, st.sets(st.integers(0, 40)))
def test_tokens_as_written_are_the_text_with_its_white_space_folded(text: str, edges: set[int]) -> None:
    solid = [edge for edge in edges if not text[edge : edge + 1].isspace()]
    tokens, starts = cut_at(*tokenise_with_starts(text), solid)
    source = Source("d", 0, len(text), *spelling(text, tokens, starts))
    assert "".join(gap + token for gap, token in as_written(tokens, source)) == " ".join(text.split())


def test_a_compound_is_cut_where_the_name_ends() -> None:
    text = "U.S.-Mexico talks"
    tokens, starts = cut_at(*tokenise_with_starts(text), (0, 4, 5, 11))
    assert tokens == ["U.S.", "-", "Mexico", "talks"]
    assert spans_of([(0, 4), (5, 11)], starts) == [Span(0, 1), Span(2, 3)]
