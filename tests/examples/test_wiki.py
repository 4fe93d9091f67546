"""examples/wiki: real articles out of gensim's sample, and a knowledge base of our own."""

import json
import re
import zlib
from collections import defaultdict

import pytest

from sayso.readers.tables import read_inventory
from script import ROOT, load

WIKI = ROOT / "examples" / "wiki"


def rows(name: str) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in (WIKI / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("wiki") / "documents.jsonl"
    load("examples/wiki/articles.py").main(out)
    documents = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    return {each["id"]: each["text"] for each in documents}


def test_an_article_becomes_plain_paragraphs() -> None:
    markup = """{{Infobox|capital=[[Windhoek]]|{{nested|x}}}}
'''Namibia''' ({{IPA|nə}}; {{lang|de|Südwest}}) is a [[country]] in [[Africa|southern Africa]].<ref name="a">[[x]]</ref>
It is {{convert|100|to|200|km|mi}} &amp; more from [http://example.org the sea].<!-- hidden --> ''So'' it is said.
== History ==
* A list of things that nobody reads aloud.
[[File:map.png|thumb|A map of [[Namibia]].]]
{| class="wikitable"
| a table with a sentence in it, of course.
|}
An area of {{formatnum:12}}, which nobody can know now.
== See also ==
Another article that is about something else entirely."""
    assert load("examples/wiki/articles.py").plain(markup) == (
        "Namibia (Südwest) is a country in southern Africa.\n\nIt is 100 to 200 km & more from the sea. So it is said."
    )


def test_the_listed_articles_are_in_the_sample_and_have_no_markup(texts: dict[str, str]) -> None:
    assert 25 <= len(texts) <= 60
    for title, text in texts.items():
        assert len(text.split()) > 150, title
        assert not re.search(r"[{}|]|\[\[|\]\]|</|''|==|&\w+;|\( |\(\)|https?:", text), title
        assert all(paragraph.strip() for paragraph in text.split("\n\n")), title


def test_the_knowledge_base_is_consistent() -> None:
    known, withheld = rows("kb.tsv"), rows("withheld.tsv")
    names = {row[0] for row in rows("names.tsv")}
    types = json.loads((WIKI / "types.json").read_text("utf-8"))
    relations = {relation.name: relation.is_functional for relation in read_inventory(WIKI / "relations.tsv")}
    facts = known + withheld
    assert len(known) >= 250
    assert len(set(facts)) == len(facts)
    assert {fact[1] for fact in known} == {fact[1] for fact in withheld} == set(relations)
    assert {entity for head, _, tail in facts for entity in (head, tail)} <= names == set(types)
    tails = defaultdict(set)
    for head, relation, tail in facts:
        assert head != tail
        tails[head, relation].add(tail)
        if relation == "borders":
            same = known if (head, relation, tail) in known else withheld
            assert (tail, relation, head) in same, "both directions are known, or both are withheld"
    assert all(len(found) == 1 for (_, relation), found in tails.items() if relations[relation])


def test_facts_are_withheld_by_a_fixed_rule() -> None:
    def is_withheld(head: str, tail: str) -> bool:
        return zlib.crc32(" ".join(sorted((head, tail))).encode()) % 4 == 0

    assert not any(is_withheld(head, tail) for head, _, tail in rows("kb.tsv"))
    assert all(is_withheld(head, tail) for head, _, tail in rows("withheld.tsv"))


def test_enough_facts_have_a_sentence_that_names_both(texts: dict[str, str]) -> None:
    entities: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows("names.tsv"):
        for name in row[1:]:
            entities[name].add(row[0])
    longest_first = map(re.escape, sorted(entities, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(longest_first)})(?![\w-])")
    together = set()
    for sentence in re.split(r"(?<=[.!?]) |\n\n", "\n\n".join(texts.values())):
        named = {entity for found in pattern.finditer(sentence) for entity in entities[found[0]]}
        together |= {(head, tail) for head in named for tail in named}
    assert sum((head, tail) in together for head, _, tail in rows("kb.tsv")) >= 150
    assert sum((head, tail) in together for head, _, tail in rows("withheld.tsv")) >= 60
