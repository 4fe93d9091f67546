import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.document import Document
from sayso.documents.entity_graph import EntityGraph
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.knowledge import Exceptions
from sayso.documents.link import Link, Linker
from sayso.documents.mention import DocumentReader, MentioningSentence
from sayso.documents.reference import short_names
from sayso.documents.settings import ReadingOptions
from sayso.facts.quote import quote_of
from sayso.records import Sentence

NAMES = {
    "ana": ("Ana Diaz",),
    "bo": ("Bo Holt",),
    "rome": ("Rome",),
    "oslo": ("Oslo",),
    "italy": ("Italy",),
    "acme": ("Acme Corp",),
    "zorg": ("Zorg Works",),
    "cy": ("Cy Marsh",),
}
TYPES = {
    "ana": ["/person"],
    "bo": ["/person/artist"],
    "rome": ["/location/city"],
    "oslo": ["/location/city"],
    "italy": ["/location/country"],
    "acme": ["/organization/company"],
    "zorg": ["/organization/company"],
}
BOTH = ReadingOptions(short_names=True, pronouns=True)


def reader(options: ReadingOptions = BOTH, exceptions: Exceptions | None = None) -> DocumentReader:
    linker = Linker(NAMES, EntityGraph({}, TYPES))
    return DocumentReader(Gazetteer(NAMES).find, linker, NAMES, 50, exceptions, options)


def mentions(text: str, one: DocumentReader | None = None) -> list[list[tuple[str, str]]]:
    """Return (text, entity) of every mention in the sentences with a pair."""
    found = (one or reader()).sentences(Document("d", text))
    return [
        sorted(
            (text[slice(*place)], entity.mention.entity_id) for entity in sentence.entities for place in entity.places
        )
        for sentence in found
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bo Holt sings. Holt left Rome.", [("Holt", "bo"), ("Rome", "rome")]),
        ("Bo Holt sings. Mr. Holt's Rome is old.", [("Holt", "bo"), ("Rome", "rome")]),
        ("Holt left Rome. Bo Holt sings.", None),  # not named before
        ("Bo Holt and Hans Holt sing. Holt left Rome.", None),  # two people
        ("Bo Holt sings. Hans Holt left. Holt left Rome.", None),
        ("Bo Holt sings. Mrs. Holt left Rome.", None),  # a relative
        ("Bo Holt sings. The Holt Museum is in Rome.", None),
        ("Bo Holt sings. Holt-Sanders left Rome.", None),
        ("Bo Holt sings. The Marsh–Holt debate was in Rome.", None),
        ("Bo Holt sings in a holt. Holt left Rome.", None),  # an ordinary word
        ("Cy Marsh sings. Marsh left Rome.", None),  # has no type
        ("Zorg Works sings. Works left Rome.", None),  # not a person
    ],
)
def test_a_surname_alone_is_the_one_person_named_before(text: str, expected: list[tuple[str, str]] | None) -> None:
    assert mentions(text) == ([expected] if expected else [])


def resolved(text: str) -> list[tuple[str, str]]:
    """Return the mentions in the last sentence if one is a pronoun or a noun."""
    last = (mentions(text) or [[]])[-1]
    return last if any(each.lower().split()[0] in ("he", "she", "it", "the") for each, _ in last) else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana Diaz sings. She left Rome.", [("Rome", "rome"), ("She", "ana")]),
        ("Ana Diaz sings. In 1990, she left Rome.", [("Rome", "rome"), ("she", "ana")]),
        ("Ana Diaz sings. It rained. Later she left Rome.", [("Rome", "rome"), ("she", "ana")]),
        ("Ana Diaz sings.\nShe left Rome.", [("Rome", "rome"), ("She", "ana")]),
        ("Rome is a city. It became part of Italy in 1870.", [("It", "rome"), ("Italy", "italy")]),
        ("Acme Corp sells tea. The company is based in Rome.", [("Rome", "rome"), ("The company", "acme")]),
        ("Rome is old. In 1870, Italy gave the city's mayor a house.", [("Italy", "italy"), ("the city", "rome")]),
        ("Ana Diaz sings.\n\nShe left Rome.", None),  # another paragraph
        ("Ana Diaz sings. Bo sings. She left Rome.", None),  # Bo may be a woman
        ("Ana Diaz met Bo Holt. She left Rome.", None),  # two people
        ("Yesterday the house was sold by Ana Diaz. She left Rome.", None),  # not the subject
        ("Ana Diaz and a Zara Quist sing. She left Rome.", None),  # an unknown person
        ("Cy Marsh sings. He left Rome.", None),  # has no type
        ("Ana Diaz sings. When Zara came, she left Rome.", None),  # not clear whether Ana left
        ('Ana Diaz says: "My sister sings. She left Rome."', None),  # within quotation marks
        ("Ana Diaz sings. She left Rome. He left Oslo.", None),  # both he and she
        ("Rome is a city. It was in Italy that he sang.", None),
        ("Rome is a city. It rains in Italy.", None),
        ("Rome has a river. It became part of Italy in 1870.", None),  # the river?
        ("Acme Corp and Zorg Works sell tea. The company is based in Rome.", None),  # two companies
        ("Acme Corp and Quist Inc sell tea. The company is based in Rome.", None),  # perhaps the unknown one
        ("Acme Corp sells tea. The company town is Rome.", None),
        ("Rome lost. In Oslo, the city has a mayor.", None),
    ],
)
def test_a_pronoun_has_an_antecedent_where_it_is_clear(text: str, expected: list[tuple[str, str]] | None) -> None:
    assert resolved(text) == (expected or [])


def test_the_next_sentence_about_the_same_person_is_resolved_too() -> None:
    text = "Ana Diaz sings. She left Rome. She loves Oslo."
    assert mentions(text) == [[("Rome", "rome"), ("She", "ana")], [("Oslo", "oslo"), ("She", "ana")]]


def test_the_surname_of_a_new_person_is_linked_without_types() -> None:
    cy = Link(0, 8, "new:person/Cy Marsh", ("new:person/Cy Marsh",))
    assert short_names("Cy Marsh sings. Marsh left.", [cy], EntityGraph({}, {})) == [cy._replace(start=16, stop=21)]


def test_they_are_off_by_default_counted_and_obey_exceptions() -> None:
    text = "Ana Diaz sings. She left Rome. Diaz loves Oslo."
    assert mentions(text, reader(ReadingOptions())) == []
    one = reader()
    assert len(mentions(text, one)) == 2
    assert (one.counts["short names"], one.counts["pronouns"]) == (1, 1)
    start = text.index("She")
    one = reader(exceptions=Exceptions([("d", start, start + 14, "ana")]))
    assert mentions(text, one) == [[("Diaz", "ana"), ("Oslo", "oslo")]]
    assert one.counts["pronouns"] == 0


def test_a_quote_shows_the_antecedent_and_its_offsets_lead_to_the_pronoun() -> None:
    text = "Ana Diaz sings. She left  Rome."
    (found,) = reader().sentences(Document("d", text))
    assert text[found.source.start : found.source.stop] == "She left  Rome."
    sentence = Sentence(found.tokens, *(entity.mention for entity in found.entities), source=found.source)
    quote = quote_of(sentence, 1, 0.5)
    assert quote.edited(sentence.head.name, sentence.tail.name) == "She [Ana Diaz] left Rome."
    assert (quote.sentence, quote.source) == ("She left Rome.", found.source._replace(glued=(), curly=()))


@pytest.mark.parametrize("piece", ["Ana Diaz left Rome. She ", "Holt he ", "It is a Rome ", '" Bo Holt. Holt ', "\n"])
def test_a_document_without_end_takes_time_proportional_to_its_length(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    assert len(mentions(f"Bo Holt sings. {text}")) < len(text)


PIECES = (
    *(
        "Ana Diaz",
        "Bo Holt",
        "Holt",
        "Diaz",
        "Rome",
        "Italy",
        "Acme Corp",
        "He",
        "She",
        "he",
        "It",
        "It became",
        "is a",
    ),
    *(
        "the company",
        "The company is",
        "the city, ",
        "left",
        "Mr.",
        "In 1990,",
        "Zara",
        ". ",
        ".\n\n",
        "\n",
        '"',
        "'s",
        "<b>",
    ),
)


def read(text: str, options: ReadingOptions) -> list[MentioningSentence]:
    return list(reader(options).sentences(Document("d", text)))


OPTIONS = st.builds(ReadingOptions, st.booleans(), st.booleans(), st.sampled_from([1, 2]))


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join), OPTIONS)
def test_every_mention_is_at_its_offsets(text: str, options: ReadingOptions) -> None:
    for sentence in read(text, options):
        for entity in sentence.entities:
            assert len(entity.places) == len(entity.mention.spans)
            for (start, stop), span in zip(entity.places, entity.mention.spans, strict=True):
                assert sentence.source.start <= start < stop <= sentence.source.stop
                written = "".join(text[start:stop].replace("<b>", "").split()).replace("’", "'")
                assert "".join(sentence.tokens[slice(*span)]) == written


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_names_are_found_as_without_pronouns(text: str) -> None:
    def names(options: ReadingOptions) -> set[tuple[int, int, str]]:
        return {
            (*place, entity.mention.entity_id)
            for sentence in read(text, options)
            for entity in sentence.entities
            for place in entity.places
        }

    assert names(ReadingOptions()) <= names(ReadingOptions(pronouns=True))
