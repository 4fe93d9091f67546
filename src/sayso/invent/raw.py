"""An invented corpus as users have theirs: documents, names, a knowledge base with facts withheld, and the truth.

The sentences are those of the same plan as the corpus of `write`, training and test together, spread over articles in
natural text. What the knowledge base does not have are the facts of the test pairs.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from sayso.errors import BadConfigError
from sayso.invent import tables
from sayso.invent.choose import Pair
from sayso.invent.names import Entity
from sayso.invent.natural import natural_text
from sayso.invent.output import write_lines
from sayso.invent.phrase import HEAD, TAIL, THIRD, Draft, Phraser
from sayso.invent.plan import Plan, make_plan
from sayso.invent.sample import Sampler
from sayso.invent.settings import InventSettings
from sayso.invent.wording import Wordings, all_wordings, training_wordings
from sayso.io.atomic import atomic_folder, refuse_foreign
from sayso.seeding import sub_seed

RAW_FILES = {
    "documents.jsonl": "news articles, one a line",
    "names.tsv": "entity id, name, other names; some belong to several entities, some are common words",
    "kb.tsv": "the knowledge base: head, relation, tail; the withheld facts are not in it",
    "relations.tsv": "the relations, with definition and example",
    "types.json": "entity id to types; some entities have none",
    "truth_withheld.tsv": "the withheld facts, and whether a sentence states them",
    "truth_sentences.jsonl": "for each sentence that names a pair: where it stands, and the relations it states",
    "truth_types.json": "the types of all entities",
    "manifest.json": "this file: settings and counts",
}
"""What is written, and what it is."""

_SIZES = {"toy": (200, 3_000, 600), "demo": (1_600, 24_000, 4_800), "fbnyt": (46_000, 690_000, 138_000)}
"""Articles, and sentences of known and of withheld pairs: about eighteen an article."""

_DEFAULTS = {"na_share": 0.3, "name_shortcut": 0.0, "unseen_wording_share": 0.0, "direct_sentences": 0}
"""A sentence about two strangers names other pairs besides, so that documents need fewer; and no traps are laid."""

UNTYPED_SHARE = 0.15
_HOME_SHARE = 0.5
"""Of the sentences, those that stand in the one article that its head is at home in."""

_ALIAS_SHARE, _PLAIN_SHARE, _PARAGRAPH_SHARE = 0.4, 0.1, 0.2
_COMMON_NAMES = ("May", "It", "The", "Us", "No", "A", "Now", "March")
_ENTITIES_PER_COMMON_NAME = 40


class RawSummary(NamedTuple):
    """What was written."""

    folder: Path
    documents: int
    sentences: int
    entities: int
    facts: int
    withheld: int
    withheld_stated: int


class _Line(NamedTuple):
    """A sentence to be put into an article."""

    pair: Pair
    third: int | None
    draft: Draft


def raw_settings(size: str, **changes: Any) -> InventSettings:
    """Return the settings of a named size, with the changes made."""
    InventSettings.of_size(size)  # refuses a size that is not known
    documents, train, test = _SIZES[size]
    counts = {"documents": documents, "train_sentences": train, "test_sentences": test}
    return InventSettings(**(counts | _DEFAULTS | changes))


def invent_raw(out: Path, settings: InventSettings, *, overwrite: bool = False) -> RawSummary:
    """Make up documents and a knowledge base and write them into the folder; the same settings give the same bytes."""
    if not settings.documents:
        raise BadConfigError("documents is 0; a raw corpus needs at least 1")
    if overwrite:
        refuse_foreign(out, RAW_FILES.__contains__, "invented documents")
    with atomic_folder(out, overwrite=overwrite) as folder:
        return _Writer(folder, settings, make_plan(settings)).write(out)


class _Writer:
    def __init__(self, folder: Path, settings: InventSettings, plan: Plan) -> None:
        self.folder, self.settings, self.plan = folder, settings, plan
        self.rng = random.Random(sub_seed(settings.seed, "invent/raw"))
        self.phraser = Phraser(plan.bystanders, self._rng("raw filler"))

    def _rng(self, name: str) -> random.Random:
        return random.Random(sub_seed(self.settings.seed, f"invent/{name}"))

    def write(self, out: Path) -> RawSummary:
        lines = self._lines()
        articles = self._articles(lines)
        with (
            (self.folder / "documents.jsonl").open("w", encoding="utf-8") as documents,
            (self.folder / "truth_sentences.jsonl").open("w", encoding="utf-8") as truth,
        ):
            for number, article in enumerate(articles):
                text, records = self._document(f"news-{number:05d}", article)
                documents.write(json.dumps({"id": f"news-{number:05d}", "text": text}) + "\n")
                truth.writelines(json.dumps(record) + "\n" for record in records)
        facts, withheld = self._write_tables(
            {(line.pair, name) for line in lines for name in line.draft.wording.states}
        )
        num_stated = sum(row.endswith("true") for row in withheld)
        summary = RawSummary(
            out, len(articles), len(lines), len(self.plan.entities), len(facts), len(withheld), num_stated
        )
        counts = {key: value for key, value in summary._asdict().items() if key != "folder"}
        manifest = {"made_by": "sayso invent --raw", "settings": asdict(self.settings), **counts, "files": RAW_FILES}
        write_lines(self.folder / "manifest.json", [json.dumps(manifest, indent=2)])
        return summary

    def _lines(self) -> list[_Line]:
        """Return the sentences of training and of test in a random order."""
        known = training_wordings(self.settings.unseen_wording_share, self._rng("wording"))
        lines = [*self._part("train", known), *self._part("test", all_wordings())]
        self.rng.shuffle(lines)
        return lines

    def _articles(self, lines: Sequence[_Line]) -> list[list[_Line]]:
        """Return the sentences of each article; none is without."""
        num = min(self.settings.documents, len(lines))
        articles = [[line] for line in lines[:num]]
        home = {number: self.rng.randrange(num) for number in range(len(self.plan.entities))}
        for line in lines[num:]:
            is_at_home = self.rng.random() < _HOME_SHARE
            articles[home[line.pair.head] if is_at_home else self.rng.randrange(num)].append(line)
        return articles

    def _part(self, name: str, wordings: Wordings) -> Iterator[_Line]:
        sampler = Sampler(self.plan.entities, wordings, self.phraser, self._rng(f"raw {name} wordings"))
        for bag, drafts in sampler.drafts(getattr(self.plan, name)):
            thirds = [bag.guest.tail] if bag.guest else []
            for draft, third in zip_longest(drafts, thirds):
                yield _Line(bag.pair, third, draft)

    def _document(self, document_id: str, lines: Sequence[_Line]) -> tuple[str, list[dict[str, Any]]]:
        text, records, named = "", [], set[int]()
        for line in lines:
            if self.rng.random() < _PLAIN_SHARE:
                text += self._gap(text) + natural_text(self.phraser.plain(), {}).text
            text += self._gap(text)
            pair = line.pair
            numbers = {HEAD: pair.head, TAIL: pair.tail} | ({} if line.third is None else {THIRD: line.third})
            names = {mark: self._called(number, named) for mark, number in numbers.items()}
            sentence = natural_text(line.draft.tokens, names)
            ids = {"head": self.plan.entities[pair.head].id, "tail": self.plan.entities[pair.tail].id}
            place = {"document": document_id, "start": len(text), "stop": len(text) + len(sentence.text)}
            records.append(place | ids | {"relations": list(line.draft.wording.states)})
            text += sentence.text
        return text, records

    def _gap(self, text: str) -> str:
        return "" if not text else "\n\n" if self.rng.random() < _PARAGRAPH_SHARE else " "

    def _called(self, number: int, named: set[int]) -> str:
        """Return the name, or a shorter one where the article has given the name before."""
        entity = self.plan.entities[number]
        if number in named and entity.aliases and self.rng.random() < _ALIAS_SHARE:
            return entity.aliases[0]
        named.add(number)
        return entity.name

    def _write_tables(self, stated: set[tuple[Pair, str]]) -> tuple[list[str], list[str]]:
        """Write the tables and return the lines of the knowledge base and of what it lacks."""
        entities = self.plan.entities
        facts = list(tables.graph_lines(self.plan))
        withheld = [
            "\t".join((entities[pair.head].id, name, entities[pair.tail].id, str((pair, name) in stated).lower()))
            for pair in (bag.pair for bag in self.plan.test.bags)
            for name in pair.relations
        ]
        write_lines(self.folder / "kb.tsv", facts)
        write_lines(self.folder / "truth_withheld.tsv", withheld)
        write_lines(self.folder / "relations.tsv", tables.relation_lines())
        write_lines(self.folder / "names.tsv", tables.name_lines(_with_common_names(entities)))
        write_lines(self.folder / "truth_types.json", tables.type_lines(entities))
        rng = self._rng("raw types")
        typed = [entity._replace(types=() if rng.random() < UNTYPED_SHARE else entity.types) for entity in entities]
        write_lines(self.folder / "types.json", tables.type_lines(typed))
        return facts, withheld


def _with_common_names(entities: Sequence[Entity]) -> Iterator[Entity]:
    """Yield the entities, some with a further name that is an ordinary word."""
    for number, entity in enumerate(entities):
        which, rest = divmod(number, _ENTITIES_PER_COMMON_NAME)
        further = (_COMMON_NAMES[which % len(_COMMON_NAMES)],) if rest == 0 else ()
        yield entity._replace(aliases=entity.aliases + further)
