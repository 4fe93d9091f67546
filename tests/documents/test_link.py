from collections.abc import Mapping, Sequence

import pytest

from sayso.documents.entity_graph import EntityGraph
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.link import Linker

NAMES = {
    "einstein": ("Albert Einstein", "Einstein"),
    "washington": ("George Washington", "Washington"),
    "dc": ("Washington, D.C.", "Washington", "Washington DC"),
    "lincoln": ("Abraham Lincoln", "Lincoln"),
    "grant": ("Ulysses S. Grant", "Grant"),
    "us": ("United States", "U.S.", "US"),
    "florence": ("Florence",),
    "italy": ("Italy",),
    "tuscany": ("Tuscany",),
    "alabama": ("Alabama",),
    "birmingham_al": ("Birmingham",),
    "birmingham_uk": ("Birmingham",),
    "england": ("England",),
    "queensland": ("Queensland",),
    "bob": ("Bob Brown", "Brown"),
    "gordon": ("Gordon Brown", "Brown"),
}
FACTS = {
    ("florence", "italy"): ["in"],
    ("alabama", "us"): ["in"],
    ("birmingham_al", "alabama"): ["in"],
    ("birmingham_uk", "england"): ["in"],
    ("dc", "us"): ["in", "capital"],
    ("bob", "queensland"): ["born"],
    ("gordon", "england"): ["born"],
}
CITIES, STATES = ("florence", "birmingham_al", "birmingham_uk", "dc"), ("alabama", "queensland")
TYPES = {
    **{key: ["/location/city"] for key in CITIES},
    **{key: ["/location/state"] for key in STATES},
    **{key: ["/location/country"] for key in ("us", "italy", "england")},
    "tuscany": ["/location/region"],
    **{key: ["/person"] for key in ("einstein", "washington", "lincoln", "grant", "bob", "gordon")},
}
GRAPH = EntityGraph(FACTS, TYPES)


def entities(text: str, linker: Linker | None = None, names: Mapping[str, Sequence[str]] = NAMES) -> list[str | None]:
    found = Gazetteer({key: tuple(each) for key, each in names.items()}).find(text)
    return [link.entity_id for link in (linker or Linker(names, GRAPH)).link(text, found)]


@pytest.mark.parametrize(
    "text",
    [
        "His son Hans Albert Einstein taught.",
        "She studied at George Washington University.",
        "the guitarist Lincoln Brewster sang",
        "Lewis & Clark met at the University of Alabama.",
        "They sailed to East Florence.",
        "the H. Lincoln papers",
        'a song by Elvis "Tad" Lincoln',
        "Lincoln, Hugh J. 1999.",
        "Queen Florence smiled.",
        "They cheered Albert Einstein III.",
    ],
)
def test_a_name_inside_a_longer_name_is_not_that_name(text: str) -> None:
    assert entities(text) == [None]


@pytest.mark.parametrize(
    ("text", "entity_id"),
    [
        ("Mr Lincoln left.", "lincoln"),
        ("President Lincoln left.", "lincoln"),
        ("Yesterday Lincoln left.", "lincoln"),
        ("The A. Lincoln papers", "lincoln"),
        ("the Ulysses Grant papers", "grant"),
        ("the American Albert Einstein", "einstein"),
        ("Queensland Premier Joe Holt", "queensland"),
        ("Queensland Government sources", "queensland"),
        ("In Alabama Monday, it rained.", "alabama"),
        ("“We left the U.S. The rest stayed,” he said.", "us"),
        ("ALBERT EINSTEIN DIES IN PRINCETON", "einstein"),
        ("Physicists met. Physicist Albert Einstein, a physicist by training", "einstein"),
        ("Rain in Florence, Italy", "florence"),
        ("Rain in Florence, Tuscany", "florence"),
        ("the works of Lincoln: Brewster sang", "lincoln"),
        ("Lincoln\n\nBrewster", "lincoln"),
    ],
)
def test_titles_sentence_starts_and_headings_make_no_longer_name(text: str, entity_id: str) -> None:
    assert entities(text)[0] == entity_id


def test_initials_before_a_surname_are_no_country() -> None:
    assert entities("General U.S. Grant won.") == [None, "grant"]
    assert entities("In the U.S. Grant was known.") == [None, "grant"]
    assert entities("In the U.S., Grant was known.") == ["us", "grant"]


def test_the_place_after_a_comma_decides_which_city_it_is() -> None:
    assert entities("Rain in Birmingham, Alabama.") == ["birmingham_al", "alabama"]
    assert entities("Rain in Birmingham, England.") == ["birmingham_uk", "england"]
    assert entities("Rain in Washington, DC.") == ["dc"]
    assert entities("Rain in Florence, Alabama.") == [None, "alabama"]


def test_a_town_before_a_comma_makes_the_name_after_it_a_state() -> None:
    names = {**NAMES, "wa": ("Washington State", "Washington")}
    linker = Linker(names, EntityGraph(FACTS, TYPES | {"wa": ["/location/state"]}))
    assert entities("It was filmed in Roslyn, Washington.", linker, names) == ["wa"]
    assert entities("It was filmed in Roslyn, Washington, D.C. and Ohio.", linker, names) == ["dc"]
    for text in ("We know Adams, Washington and Franklin.", "In August, Washington moved.", "Dodd Press, Washington."):
        assert entities(text, linker, names) == [None]


def test_related_entities_of_the_document_decide_and_the_nearer_count_more() -> None:
    assert entities("Birmingham grew. Later, all Alabama did.") == ["birmingham_al", "alabama"]
    far = " It grew on and on, year after year." * 30
    text = f"Alabama won. Birmingham grew.{far} Birmingham lost to England."
    assert entities(text) == ["alabama", "birmingham_al", "birmingham_uk", "england"]


def test_nothing_near_leaves_an_ambiguous_name_open() -> None:
    assert entities("Birmingham is old.") == [None]
    assert entities("Brown laughed.") == [None]


def test_a_surname_means_the_last_person_of_that_full_name() -> None:
    text = "Bob Brown sang. Brown left. Gordon Brown came. Brown stayed."
    assert entities(text) == ["bob", "bob", "gordon", "gordon"]


def test_a_surname_means_the_only_person_whom_the_document_names_in_full() -> None:
    assert entities("Brown left early. In the end, Gordon Brown came back.") == ["gordon", "gordon"]


def test_a_title_and_a_preposition_tell_people_from_places() -> None:
    assert entities("President Washington spoke.") == ["washington"]
    assert entities("The U.S. mint moved to Washington.") == ["us", "dc"]


def test_surnames_of_a_namesake_are_doubtful_unless_the_entity_is_named_too() -> None:
    assert entities("Hugh Grant acts. Then Grant sings.") == [None, None]
    assert entities("Hugh Grant acts. Ulysses S. Grant led. Grant won.") == [None, "grant", "grant"]


def test_doubtful_links_are_kept_if_asked_for_and_always_explained() -> None:
    text = "The guitarist Lincoln Brewster met Cy Einstein."
    kept = Linker(NAMES, GRAPH, doubtful="keep").link(text, Gazetteer(NAMES).find(text))
    assert [(link.entity_id, link.doubt) for link in kept] == [
        ("lincoln", 'part of "Lincoln Brewster"'),
        ("einstein", 'part of "Cy Einstein"'),
    ]


def test_skip_leaves_every_ambiguous_name_open() -> None:
    linker = Linker(NAMES, GRAPH, "skip")
    assert entities("Brown left Alabama for Birmingham.", linker) == [None, "alabama", None]


def test_names_in_other_scripts_have_no_capitals_to_doubt() -> None:
    names = {"cairo": ("القاهرة",), "delhi": ("दिल्ली",), "moscow": ("Москва",)}
    assert entities("زار القاهرة أمس", names=names) == ["cairo"]
    assert entities("वह दिल्ली गया", names=names) == ["delhi"]
    assert entities("Он знает город Москва", names=names) == ["moscow"]
    assert entities("Он читает журнал Новая Москва", names=names) == [None]


def test_a_long_document_of_ambiguous_names_takes_time_in_proportion_to_its_length() -> None:
    text = "Birmingham, Brown and Alabama, " * 20_000
    assert len(entities(text)) == 60_000
