"""An invented corpus as a folder of files, written whole or not at all."""

import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from sayso.invent import tables
from sayso.invent.choose import related_pairs
from sayso.invent.direct import direct_blocks
from sayso.invent.document import Reporter
from sayso.invent.output import PartFiles, write_lines, write_part
from sayso.invent.phrase import Phraser
from sayso.invent.plan import Part, Plan, make_plan
from sayso.invent.sample import Sampler
from sayso.invent.settings import InventSettings
from sayso.invent.tally import PartCounts
from sayso.invent.wording import Wordings, all_wordings, training_wordings
from sayso.io.atomic import atomic_folder, refuse_foreign
from sayso.records import OnProgress, no_progress
from sayso.seeding import sub_seed

FILES = {
    "train.jsonl": "training sentences, one a line",
    "test.jsonl": "test sentences, one a line",
    "relations.tsv": "the relations, with definition and example",
    "types.json": "entity id to types, the finest first",
    "triples.tsv": "the knowledge graph, without test pairs",
    "names.tsv": "entity id, name, other names",
    "rationales.jsonl": "for each test sentence of a positive bag and each label, whether it says so",
    "rationales_train.jsonl": "the same for training",
    "wordings.tsv": "for each line of test.jsonl, its wording, and whether training has the wording",
    "wordings_train.tsv": "the same for training",
    "direct.txt": "directly supervised sentences, as in KBP37",
    "documents.jsonl": "small news articles",
    "documents_mentions.jsonl": "the pairs that sentences of the articles name, and the relations they state",
    "manifest.json": "this file: settings and counts",
}
"""What is written, and what it is."""


class Summary(NamedTuple):
    """What was written: the folder, the counts of training and test, and the size of the world."""

    folder: Path
    parts: dict[str, PartCounts]
    num_entities: int
    num_facts: int


def invent(
    out: Path,
    settings: InventSettings,
    *,
    overwrite: bool = False,
    on_progress: OnProgress = no_progress,
) -> Summary:
    """Make up a corpus and write it into the folder; the same settings give the same bytes.

    A folder that holds something is a `UserError`, unless it may be overwritten and holds nothing but such a corpus.
    """
    if overwrite:
        refuse_foreign(out, FILES.__contains__, "an invented corpus")
    with atomic_folder(out, overwrite=overwrite) as folder:
        writer = _Writer(folder, settings, make_plan(settings), on_progress)
        known = training_wordings(settings.unseen_wording_share, writer.rng("wording"))
        parts = {
            "train": writer.write_part("train", known, known),
            "test": writer.write_part("test", all_wordings(), known),
        }
        writer.write_tables()
        writer.write_direct(known)
        writer.write_documents(known)
        summary = Summary(out, parts, len(writer.plan.entities), len(writer.plan.world.facts))
        write_lines(folder / "manifest.json", [json.dumps(_manifest(settings, summary), indent=2)])
    return summary


def _manifest(settings: InventSettings, summary: Summary) -> dict[str, object]:
    return {
        "made_by": "sayso invent",
        "settings": asdict(settings),
        "parts": {name: counts._asdict() for name, counts in summary.parts.items()},
        "entities": summary.num_entities,
        "facts_of_the_world": summary.num_facts,
        "files": FILES,
    }


class _Writer:
    def __init__(self, folder: Path, settings: InventSettings, plan: Plan, on_progress: OnProgress) -> None:
        self.folder, self.settings, self.plan, self.on_progress = folder, settings, plan, on_progress

    def rng(self, name: str) -> random.Random:
        return random.Random(sub_seed(self.settings.seed, f"invent/{name}"))

    def tools(self, name: str, wordings: Wordings) -> tuple[Sampler, Phraser]:
        phraser = Phraser(self.plan.bystanders, self.rng(f"{name} filler"))
        return Sampler(self.plan.entities, wordings, phraser, self.rng(f"{name} wordings")), phraser

    def write_part(self, name: str, wordings: Wordings, known: Wordings) -> PartCounts:
        part: Part = getattr(self.plan, name)
        total: int = getattr(self.settings, f"{name}_sentences")
        suffix = "_train" if name == "train" else ""
        files = PartFiles(
            self.folder / f"{name}.jsonl",
            self.folder / f"rationales{suffix}.jsonl",
            self.folder / f"wordings{suffix}.tsv",
        )
        sampler, _ = self.tools(name, wordings)
        return write_part(
            files, sampler.lines(part), known.ids(), lambda done: self.on_progress(f"writing {name}.jsonl", done, total)
        )

    def write_tables(self) -> None:
        write_lines(self.folder / "relations.tsv", tables.relation_lines())
        write_lines(self.folder / "types.json", tables.type_lines(self.plan.entities))
        write_lines(self.folder / "names.tsv", tables.name_lines(self.plan.entities))
        write_lines(self.folder / "triples.tsv", tables.graph_lines(self.plan))

    def write_direct(self, known: Wordings) -> None:
        pairs = tables.open_pairs(self.plan, related_pairs(self.plan.world))
        sampler, phraser = self.tools("direct", known)
        blocks = direct_blocks(
            self.settings.direct_sentences, pairs, self.plan.entities, sampler, phraser, self.rng("direct")
        )
        write_lines(self.folder / "direct.txt", blocks)

    def write_documents(self, known: Wordings) -> None:
        pairs = tables.open_pairs(self.plan, related_pairs(self.plan.world))
        reporter = Reporter(pairs, self.plan.entities, *self.tools("documents", known), self.rng("documents"))
        documents = list(reporter.documents(self.settings.documents))
        texts = (json.dumps({"id": document.id, "text": document.text}) for document in documents)
        write_lines(self.folder / "documents.jsonl", texts)
        mentions = (json.dumps(record) for document in documents for record in document.mentions)
        write_lines(self.folder / "documents_mentions.jsonl", mentions)
