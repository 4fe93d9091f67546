"""Write invented raw data: documents, names, a knowledge base with some facts withheld, and the ground truth.

The sentences are those that `write` would put into training and test, spread over articles in natural text. The
withheld facts are those of the test pairs.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from sayso.errors import BadConfigError
from sayso.invent.articles import Article
from sayso.invent.names import Entity
from sayso.invent.pairs import EntityPair
from sayso.invent.plan import CorpusPlan, make_plan, rng_of
from sayso.invent.relations import Wordings, all_wordings, training_wordings
from sayso.invent.sentences import HEAD, TAIL, THIRD, Draft, Phraser, Sampler
from sayso.invent.settings import InventSettings
from sayso.invent.write import graph_lines, name_lines, opened, relation_lines, type_lines, write_lines
from sayso.io.atomic import atomic_folder, refuse_foreign

RAW_FILES = {
    "documents.jsonl": "news articles, one per line",
    "names.tsv": "entity id, name, other names; some names belong to several entities, some are common words",
    "kb.tsv": "the knowledge base without the withheld facts: head, relation, tail",
    "relations.tsv": "the relations, with definition and example",
    "types.json": "entity id to types; some entities have none",
    "truth_withheld.tsv": "the withheld facts: head, relation, tail",
    "truth_stated.tsv": "the withheld facts that a sentence states",
    "truth_sentences.jsonl": "for each sentence that mentions a pair: its position, and the relations it states",
    "truth_types.json": "the types of all entities",
    "manifest.json": "this file: settings and counts",
}
"""The files in the folder, and what each contains."""

_SIZES = {"toy": (200, 3_000, 600), "demo": (1_600, 24_000, 4_800), "fbnyt": (46_000, 690_000, 138_000)}
"""Numbers of articles, sentences of known pairs and sentences of withheld pairs: about 18 sentences per article."""

_DEFAULTS = {"na_share": 0.3, "name_shortcut": 0.0, "unseen_wording_share": 0.0, "direct_sentences": 0}
"""Articles mention many unrelated pairs anyway, so fewer are planned; no shortcut, no unseen wordings."""

UNTYPED_SHARE = 0.15
_HOME_SHARE = 0.5
"""Fraction of the sentences that are placed in the home article of their head."""

_ALIAS_SHARE, _PLAIN_SHARE, _PARAGRAPH_SHARE = 0.4, 0.1, 0.2
_COMMON_NAMES = ("May", "It", "The", "Us", "No", "A", "Now", "March")
_ENTITIES_PER_COMMON_NAME = 40


class _Line(NamedTuple):
    pair: EntityPair
    third: int | None
    draft: Draft


def raw_settings(size: str, **changes: Any) -> InventSettings:
    """Return the settings for a named size, with `changes` applied."""
    InventSettings.of_size(size)  # refuses an unknown size
    documents, train, test = _SIZES[size]
    counts = {"documents": documents, "train_sentences": train, "test_sentences": test}
    return InventSettings(**(counts | _DEFAULTS | changes))


def invent_raw(out: Path, settings: InventSettings, *, overwrite: bool = False) -> dict[str, int]:
    """Write invented documents and a knowledge base into the folder and return the counts of what was written.

    The same settings give the same bytes.
    """
    if not settings.documents:
        raise BadConfigError("documents is 0; a raw corpus needs at least 1")
    if overwrite:
        refuse_foreign(out, RAW_FILES.__contains__, "invented documents")
    with atomic_folder(out, overwrite=overwrite) as folder:
        return _Writer(folder, settings, make_plan(settings)).write()


class _Writer:
    def __init__(self, folder: Path, settings: InventSettings, plan: CorpusPlan) -> None:
        self.folder, self.settings, self.plan = folder, settings, plan
        self.rng = rng_of(settings, "raw")
        self.phraser = Phraser(plan.bystanders, rng_of(self.settings, "raw filler"))

    def write(self) -> dict[str, int]:
        lines = self._lines()
        articles = self._articles(lines)
        with (
            opened(self.folder / "documents.jsonl") as documents,
            opened(self.folder / "truth_sentences.jsonl") as truth,
        ):
            for number, article in enumerate(articles):
                text, records = self._document(f"news-{number:05d}", article)
                documents.write(json.dumps({"id": f"news-{number:05d}", "text": text}) + "\n")
                truth.writelines(json.dumps(record) + "\n" for record in records)
        stated = {(line.pair, name) for line in lines for name in line.draft.wording.states}
        counts = {
            "documents": len(articles),
            "sentences": len(lines),
            "entities": len(self.plan.entities),
            **self._write_tables(stated),
        }
        manifest = {"made_by": "sayso invent --raw", "settings": asdict(self.settings), **counts, "files": RAW_FILES}
        write_lines(self.folder / "manifest.json", [json.dumps(manifest, indent=2)])
        return counts

    def _lines(self) -> list[_Line]:
        """Return the training and test sentences in random order."""
        known = training_wordings(self.settings.unseen_wording_share, rng_of(self.settings, "wording"))
        lines = [*self._part("train", known), *self._part("test", all_wordings())]
        self.rng.shuffle(lines)
        return lines

    def _articles(self, lines: Sequence[_Line]) -> list[list[_Line]]:
        """Distribute the sentences over articles, at least one each."""
        num = min(self.settings.documents, len(lines))
        articles = [[line] for line in lines[:num]]
        home = {number: self.rng.randrange(num) for number in range(len(self.plan.entities))}
        for line in lines[num:]:
            is_at_home = self.rng.random() < _HOME_SHARE
            articles[home[line.pair.head] if is_at_home else self.rng.randrange(num)].append(line)
        return articles

    def _part(self, name: str, wordings: Wordings) -> Iterator[_Line]:
        sampler = Sampler(self.plan.entities, wordings, self.phraser, rng_of(self.settings, f"raw {name} wordings"))
        for bag, drafts in sampler.drafts(getattr(self.plan, name)):
            for number, draft in enumerate(drafts):
                yield _Line(bag.pair, bag.guest.tail if bag.guest and not number else None, draft)

    def _document(self, document_id: str, lines: Sequence[_Line]) -> tuple[str, list[dict[str, Any]]]:
        entities, records = self.plan.entities, []
        article = Article(entities, _ALIAS_SHARE, self.rng)
        for ((head, tail, _), third, draft), pronoun in self._with_pronouns(lines):
            if not pronoun and self.rng.random() < _PLAIN_SHARE:
                article.add(self.phraser.plain(), gap=self._gap(article))
            numbers = {HEAD: head, TAIL: tail} | ({} if third is None else {THIRD: third})
            gap = " " if pronoun else self._gap(article)
            start, sentence = article.add(draft.tokens, numbers, gap=gap, pronoun=pronoun)
            place = {"document": document_id, "start": start, "stop": start + len(sentence.text)}
            ids = {"head": entities[head].id, "tail": entities[tail].id}
            about = {"relations": list(draft.wording.states)} | ({"pronoun": pronoun} if pronoun else {})
            records.append(place | ids | about)
        return article.text, records

    def _with_pronouns(self, lines: Sequence[_Line]) -> Iterator[tuple[_Line, str]]:
        """Yield the sentences of an article, some directly after another one about the same person, with a pronoun."""
        left = list(lines)
        while left:
            line = left.pop(0)
            yield line, ""
            while self.settings.pronoun_share and self.rng.random() < self.settings.pronoun_share:
                follower = next((each for each in left if self._may_follow(each, line)), None)
                if follower is None:
                    break
                left.remove(follower)
                yield follower, "she" if line.pair.head % 2 else "he"

    def _may_follow(self, line: _Line, before: _Line) -> bool:
        is_person = any("person" in name for name in self.plan.entities[line.pair.head].types)
        return (
            is_person
            and line.pair.head == before.pair.head
            and line.draft.tokens[0] == HEAD
            and line.draft.tokens.count(HEAD) == 1
        )

    def _gap(self, article: Article) -> str:
        return "\n\n" if article.text and self.rng.random() < _PARAGRAPH_SHARE else " "

    def _write_tables(self, stated: set[tuple[EntityPair, str]]) -> dict[str, int]:
        """Write the tables; return the numbers of known and withheld facts."""
        entities = self.plan.entities
        facts = list(graph_lines(self.plan))
        withheld = {
            (pair, name): f"{entities[pair.head].id}\t{name}\t{entities[pair.tail].id}"
            for pair in (bag.pair for bag in self.plan.test.bags)
            for name in pair.relations
        }
        withheld_stated = [line for fact, line in withheld.items() if fact in stated]
        rng = rng_of(self.settings, "raw types")
        typed = [entity._replace(types=() if rng.random() < UNTYPED_SHARE else entity.types) for entity in entities]
        tables = {
            "kb.tsv": facts,
            "truth_withheld.tsv": withheld.values(),
            "truth_stated.tsv": withheld_stated,
            "relations.tsv": relation_lines(),
            "names.tsv": name_lines(_with_common_names(entities)),
            "truth_types.json": type_lines(entities),
            "types.json": type_lines(typed),
        }
        for name, lines in tables.items():
            write_lines(self.folder / name, lines)
        return {"facts": len(facts), "withheld": len(withheld), "withheld_stated": len(withheld_stated)}


def _with_common_names(entities: Sequence[Entity]) -> Iterator[Entity]:
    """Yield the entities, some with an extra name that is an ordinary word."""
    for number, entity in enumerate(entities):
        which, rest = divmod(number, _ENTITIES_PER_COMMON_NAME)
        extra = (_COMMON_NAMES[which % len(_COMMON_NAMES)],) if rest == 0 else ()
        yield entity._replace(aliases=entity.aliases + extra)
