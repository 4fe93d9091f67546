"""Write an invented corpus as a folder of files, atomically."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from sayso.invent.articles import direct_blocks, write_article
from sayso.invent.names import Entity
from sayso.invent.pairs import related_pairs, unordered
from sayso.invent.plan import CorpusPlan, make_plan, rng_of
from sayso.invent.relations import RELATIONS, Wordings, all_wordings, training_wordings
from sayso.invent.sentences import MadeSentence, PartTally, Phraser, Sampler
from sayso.invent.settings import InventSettings
from sayso.io.atomic import atomic_folder, refuse_foreign
from sayso.readers import jsonl
from sayso.readers.mark import write_mark
from sayso.records import Mark, OnProgress, no_progress

FILES = {
    "train.jsonl": "training sentences, one per line",
    "test.jsonl": "test sentences, one per line",
    "relations.tsv": "the relations, with definition and example",
    "types.json": "entity id to types, the most specific first",
    "triples.tsv": "the knowledge graph, without test pairs",
    "names.tsv": "entity id, name, other names",
    "rationales.jsonl": "for each test sentence of a positive bag and each label, whether the sentence states it",
    "rationales_train.jsonl": "the same for the training sentences",
    "wordings.tsv": "for each line of test.jsonl, its wording, and whether training may use the wording",
    "wordings_train.tsv": "the same for train.jsonl",
    "direct.txt": "directly supervised sentences, as in KBP37",
    "documents.jsonl": "short news articles",
    "documents_mentions.jsonl": "the pairs that sentences in the articles mention, and the relations they state",
    "manifest.json": "this file: settings and counts",
}
"""The files in the folder, and what each contains."""

_BAGS_BETWEEN_REPORTS = 2_000


def invent(
    out: Path, settings: InventSettings, *, overwrite: bool = False, on_progress: OnProgress = no_progress
) -> dict[str, Any]:
    """Write an invented corpus into the folder and return its manifest; the same settings give the same bytes.

    Raises:
        UserError: the folder is not empty, unless `overwrite` is set and it contains nothing but an invented corpus.
    """
    if overwrite:
        refuse_foreign(out, FILES.__contains__, "an invented corpus")
    with atomic_folder(out, overwrite=overwrite) as folder:
        writer = _Writer(folder, settings, make_plan(settings), on_progress)
        known = training_wordings(settings.unseen_wording_share, rng_of(settings, "wording"))
        parts = {
            "train": writer.write_part("train", known, known),
            "test": writer.write_part("test", all_wordings(), known),
        }
        tables = {
            "relations.tsv": relation_lines(),
            "types.json": type_lines(writer.plan.entities),
            "names.tsv": name_lines(writer.plan.entities),
            "triples.tsv": graph_lines(writer.plan),
            **writer.articles(known),
        }
        for name, lines in tables.items():
            write_lines(folder / name, lines)
        manifest = {
            "made_by": "sayso invent",
            "settings": asdict(settings),
            "parts": parts,
            "entities": len(writer.plan.entities),
            "facts_of_the_world": len(writer.plan.world.facts),
            "files": FILES,
        }
        write_lines(folder / "manifest.json", [json.dumps(manifest, indent=2)])
    return manifest


class _Writer:
    def __init__(self, folder: Path, settings: InventSettings, plan: CorpusPlan, on_progress: OnProgress) -> None:
        self.folder, self.settings, self.plan, self.on_progress = folder, settings, plan, on_progress

    def sampler(self, name: str, wordings: Wordings) -> Sampler:
        phraser = Phraser(self.plan.bystanders, rng_of(self.settings, f"{name} filler"))
        return Sampler(self.plan.entities, wordings, phraser, rng_of(self.settings, f"{name} wordings"))

    def write_part(self, name: str, wordings: Wordings, known: Wordings) -> dict[str, float]:
        """Write the training or test sentences, their rationales and their wordings."""
        total: int = getattr(self.settings, f"{name}_sentences")
        suffix = "_train" if name == "train" else ""
        names = (f"{name}.jsonl", f"rationales{suffix}.jsonl", f"wordings{suffix}.tsv")
        tally, num_sentences = PartTally(), 0
        known_ids = {wording.id for of_name in known.values() for wording in of_name}
        with ExitStack() as stack:
            sentences, rationales, wordings_file = (stack.enter_context(opened(self.folder / file)) for file in names)
            wordings_file.write("line\twording\tin_training\n")
            for number, bag in enumerate(self.sampler(name, wordings).lines(getattr(self.plan, name))):
                for made in bag:
                    num_sentences += 1
                    sentences.write(jsonl.write(made.sentence) + "\n")
                    is_known = made.wording.id in known_ids
                    wordings_file.write(f"{num_sentences}\t{made.wording.id}\t{str(is_known).lower()}\n")
                    rationales.writelines(write_mark(mark) + "\n" for mark in _marks(made))
                tally.add(bag, sum(made.wording.id not in known_ids for made in bag))
                if number % _BAGS_BETWEEN_REPORTS == 0:
                    self.on_progress(f"writing {name}.jsonl", num_sentences, total)
        return tally.counts()

    def articles(self, known: Wordings) -> dict[str, Iterable[str]]:
        """Return the lines of the directly supervised sentences and of the articles, without test pairs."""
        hidden = _test_pairs(self.plan)
        pairs = [pair for pair in related_pairs(self.plan.world) if unordered(pair.head, pair.tail) not in hidden]
        direct, rng = self.sampler("direct", known), rng_of(self.settings, "direct")
        blocks = direct_blocks(self.settings.direct_sentences, pairs, direct, rng)
        sampler, rng = self.sampler("documents", known), rng_of(self.settings, "documents")
        ids = [f"d.{index:05d}" for index in range(self.settings.documents)]
        articles = [(document_id, *write_article(document_id, pairs, sampler, rng)) for document_id in ids]
        return {
            "direct.txt": blocks,
            "documents.jsonl": (json.dumps({"id": document_id, "text": text}) for document_id, text, _ in articles),
            "documents_mentions.jsonl": (json.dumps(record) for _, _, records in articles for record in records),
        }


def _marks(made: MadeSentence) -> Iterator[Mark]:
    """Yield a mark for each label of the sentence's bag: whether the sentence states it."""
    sentence = made.sentence
    for relation in sentence.relations:
        label = "rationale" if relation in made.wording.states else "irrelevant"
        yield Mark(*sentence.pair, relation, sentence.text, label, "construction")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write the lines, each followed by a newline."""
    with opened(path) as file:
        file.writelines(line + "\n" for line in lines)


def opened(path: Path) -> TextIO:
    """Open a new text file."""
    return path.open("w", encoding="utf-8", newline="\n")


def relation_lines() -> Iterator[str]:
    """Yield a header and a row for each relation."""
    yield "name\tdefinition\texample\tfunctional"
    for kind in RELATIONS.values():
        yield f"{kind.name}\t{kind.definition}\t{kind.example}\t{str(kind.is_functional).lower()}"


def type_lines(entities: Sequence[Entity]) -> Iterator[str]:
    """Yield the lines of a JSON object that maps entity ids to types, the most specific first."""
    yield "{"
    for number, entity in enumerate(entities, 1):
        yield f"{json.dumps(entity.id)}: {json.dumps(entity.types)}{',' if number < len(entities) else ''}"
    yield "}"


def name_lines(entities: Iterable[Entity]) -> Iterator[str]:
    """Yield the id, name and other names of each entity, separated by tabs."""
    for entity in entities:
        yield "\t".join((entity.id, entity.name, *entity.aliases))


def graph_lines(plan: CorpusPlan) -> Iterator[str]:
    """Yield the facts of all pairs that are not test pairs in either direction."""
    hidden = _test_pairs(plan)
    for head, relation, tail in plan.world.facts:
        if unordered(head, tail) not in hidden:
            yield f"{plan.entities[head].id}\t{relation}\t{plan.entities[tail].id}"


def _test_pairs(plan: CorpusPlan) -> set[tuple[int, int]]:
    """Return all test pairs, including guests, without their direction."""
    pairs = [pair for bag in plan.test.bags for pair in (bag.pair, bag.guest) if pair]
    return {unordered(pair.head, pair.tail) for pair in pairs}
