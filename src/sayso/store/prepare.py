"""Files to a store: the whole way, stage by stage."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sayso import __version__
from sayso.engine.base import Engine
from sayso.errors import BadInputError
from sayso.io.atomic import atomic_folder
from sayso.readers.entity_type import read_entity_types, refuse_no_type
from sayso.readers.relation import read_inventory
from sayso.records import OnProgress, Relation, Sentence
from sayso.store.decisions import FactDecisions, decisions_of
from sayso.store.direct import CorpusForm, corpus_form, direct_types, in_form
from sayso.store.group import BagBuilder, Grouped, group_lines
from sayso.store.inputs import Inputs, PrepareSettings, SentenceFiles, refuse_missing
from sayso.store.leakage import Split, find_leakage, not_in_test, refuse_leakage, split_by_pair, without_pairs_of
from sayso.store.marks import Judged, match_marks
from sayso.store.parallel import ParallelReader
from sayso.store.store import FORMAT, StoreContents, refuse_no_store, write_store
from sayso.store.table import BagTable
from sayso.store.vocabulary import (
    EntityTypes,
    Vocabulary,
    WordOrder,
    count_mentions,
    entity_vectors,
    finest_types,
    order_words,
)


def prepare(
    inputs: Inputs,
    settings: PrepareSettings,
    out: Path,
    on_progress: OnProgress,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Write the store of these files to `out`, whole or not at all, and return its manifest.

    A folder that holds something is a `UserError`, at once, unless it may be overwritten and is nothing but a store.
    Where an engine is given, its workers read training and test sentences; the store is the same.
    """
    refuse_missing(inputs)
    if overwrite:
        refuse_no_store(out)
    with atomic_folder(out, overwrite=overwrite) as folder:
        contents = _Preparation(inputs, settings, on_progress, engine).run()
        on_progress("writing the store", 0, 0)
        return write_store(folder, contents)


class _Preparation:
    """The stages, and what they hand to each other: the vocabulary and what each stage has to report."""

    def __init__(
        self, inputs: Inputs, settings: PrepareSettings, on_progress: OnProgress, engine: Engine | None
    ) -> None:
        self.inputs, self.settings, self.on_progress = inputs, settings, on_progress
        self.files = SentenceFiles(inputs=inputs, max_bad_share=settings.max_bad_share, on_progress=on_progress)
        self.parallel = engine and ParallelReader(files=self.files, engine=engine, max_tokens=settings.max_tokens)
        self.inventory = read_inventory(inputs.relations) if inputs.relations else None
        self.vocabulary = Vocabulary([relation.name for relation in self.inventory or ()])
        self.decisions = FactDecisions()
        self.reports: dict[str, Any] = {}

    def run(self) -> StoreContents:
        """Read, split, type, attach vectors and marks."""
        train, test = self._read("train"), self._read("test") if self.inputs.test else None
        train = self._without_leakage(train, test)
        parts = self._split(train) | ({"test": test.table} if test else {})
        form = self._form(train)
        direct = self._without_tested(self._read_direct(form), test)
        if direct:
            parts["direct"] = self._group("direct", [s._replace(relations=()) for s in direct]).table
        types = self._types(parts["train"], direct)
        words = self._order_words(parts["train"])
        parts = {name: words.renumber(table) for name, table in parts.items()}
        return self._contents(parts, types, words)

    def _contents(self, parts: dict[str, BagTable], types: EntityTypes, words: WordOrder) -> StoreContents:
        entity_ids = list(self.vocabulary.entities)
        vectors, self.reports["entity_vectors"] = entity_vectors(
            entity_ids, words.name_vector_ED, self.inputs.entity_vectors
        )
        judged = self._judged(parts, words.words)
        matched = match_marks(self.inputs.marks, judged, self.settings.max_bad_share)
        self.reports |= {"words": words.report, "marks": matched.report}
        relations = self.inventory or [Relation(name) for name in self.vocabulary.relations]
        return StoreContents(
            words=words.words,
            word_count=words.count,
            vector_VD=words.vector_VD,
            entity_ids=entity_ids,
            entity_names=self._names(),
            entity_types=types,
            entity_vector_ED=vectors,
            relations=relations,
            documents=list(self.vocabulary.documents),
            parts=parts,
            marks=matched.columns,
            manifest=_manifest(self.settings, self.files.fingerprints(), parts, types, relations, self.reports),
        )

    def _read(self, part: str) -> Grouped:
        known = self.vocabulary.relations if self.inventory else None
        is_decided = part == "train" and bool(self.inputs.decisions)
        decisions = decisions_of(self.inputs.decisions if is_decided else (), known)
        if self.parallel:
            roles = ("train", "rest") if is_decided else (part,)
            lines = self.parallel.read(roles, self.vocabulary, list(known) if known else None, decisions)
            grouped = self._report_read(part, group_lines(lines, self.vocabulary.words))
        else:
            sentences = self.files.read(part, known)
            rest = self.files.read("rest", known)
            grouped = self._group(part, decisions.applied(sentences, rest) if is_decided else sentences)
        if is_decided:
            self.decisions, self.reports["overruled"] = decisions, decisions.report()
        return grouped

    def _group(self, part: str, sentences: Iterable[Sentence]) -> Grouped:
        builder = BagBuilder(self.vocabulary, self.settings.max_tokens)
        for sentence in sentences:
            builder.add(sentence)
        return self._report_read(part, builder.finish())

    def _report_read(self, part: str, grouped: Grouped) -> Grouped:
        self.reports.setdefault("read", {})[part] = _counts(grouped)
        return grouped

    def _without_leakage(self, train: Grouped, test: Grouped | None) -> Grouped:
        if test is None:
            return train
        leakage = find_leakage(train, test)
        self.reports["leakage"] = asdict(leakage)
        if self.settings.leak == "refuse":
            refuse_leakage(leakage, train.num_sentences_read)
        if self.settings.leak == "drop":
            train = without_pairs_of(train, test.table)
            # Sentences of other pairs stay, and some of them may be test sentences too.
            self.reports["leakage"]["test_sentences_in_train"] = find_leakage(train, test).test_sentences_in_train
        return train

    def _split(self, train: Grouped) -> dict[str, BagTable]:
        settings = self.settings
        split = split_by_pair(train, settings.validation_share, settings.seed, settings.keep_shared_sentences)
        self.reports["split"] = _counts(split)
        if not split.train.num_bags:
            raise self._no_training(split)
        if overruled := self.reports.get("overruled"):
            num, *num_kept = map(self._num_decided, (train.table, split.train, split.validation))
            overruled["num_facts_left_out_by_split"] = num - sum(num_kept)
        return {"train": split.train, "validation": split.validation}

    def _num_decided(self, table: BagTable) -> int:
        return self.decisions.num_facts_of(table, self.vocabulary.entities)

    def _no_training(self, split: Split) -> BadInputError:
        """Return the error for a store that nothing could be trained on, with what became of the pairs."""
        is_dropped = self.settings.leak == "drop" and "leakage" in self.reports
        fates = {
            "test pairs, left out": self.reports["leakage"]["test_pairs_in_train"] if is_dropped else 0,
            "in validation": split.validation.num_bags,
            "left out because their sentences stand in validation": split.num_train_pairs_left_out,
        }
        named = ", ".join(f"{num:,} {fate}" for fate, num in fates.items() if num)
        return BadInputError(
            f"{self.inputs.train}: no pair is left for training ({named or 'all sentences are too long'}):"
            " name a file with sentences of other pairs"
        )

    def _form(self, train: Grouped) -> CorpusForm:
        """Return how the corpus writes, which direct sentences and those a model is asked about later must follow."""
        form = corpus_form(train.table, list(self.vocabulary.words), self.vocabulary.entity_name.values())
        self.reports["form"] = asdict(form)
        return form

    def _read_direct(self, form: CorpusForm) -> list[Sentence]:
        """Return the directly supervised sentences, written as the corpus writes."""
        if not self.inputs.direct:
            return []
        return [in_form(sentence, form) for sentence in self.files.read("direct", None)]

    def _without_tested(self, direct: list[Sentence], test: Grouped | None) -> list[Sentence]:
        """Return the directly supervised sentences without those of test, which are counted in any case."""
        if test is None or not direct:
            return direct
        kept = not_in_test(direct, test.table, list(self.vocabulary.words))
        self.reports["leakage"]["direct_sentences_in_test"] = len(direct) - len(kept)
        return direct if self.settings.leak == "allow" else kept

    def _types(self, train: BagTable, direct: Sequence[Sentence]) -> EntityTypes:
        types = {}
        if self.inputs.types:
            types = read_entity_types(self.inputs.types, self.vocabulary.relations)
            refuse_no_type(self.inputs.types, types, self.vocabulary.entities)
        if direct:
            names = dict(zip(self.vocabulary.entities, self._names(), strict=True))
            types = {**direct_types(direct, types, names, self.settings.seed), **types}
        return finest_types(list(self.vocabulary.entities), types, count_mentions(train, len(self.vocabulary.entities)))

    def _order_words(self, train: BagTable) -> WordOrder:
        if self.inputs.vectors:
            self.on_progress("reading word vectors", 0, 0)
        return order_words(list(self.vocabulary.words), self._names(), train, self.inputs.vectors)

    def _judged(self, parts: dict[str, BagTable], words: Sequence[str]) -> Judged | None:
        test = parts.get("test")
        if test is None:
            return None
        return Judged(
            table=test,
            entities=self.vocabulary.entities,
            relations=self.vocabulary.relations,
            text=lambda row: " ".join(words[number] for number in test.tokens.row(row).tolist()),
        )

    def _names(self) -> list[str]:
        """Return the first name of each entity; empty for one whose sentences were all left out."""
        return [self.vocabulary.entity_name.get(number, "") for number in range(len(self.vocabulary.entities))]


def _counts(report: object) -> dict[str, int]:
    """Return the counting fields of a stage's result."""
    return {name: value for name, value in vars(report).items() if name.startswith("num_")}


def _manifest(
    settings: PrepareSettings,
    inputs: dict[str, dict[str, Any]],
    parts: dict[str, BagTable],
    types: EntityTypes,
    relations: Sequence[Relation],
    reports: dict[str, Any],
) -> dict[str, Any]:
    """Return the manifest; its fingerprint names the inputs' content and the settings, not where the files lie."""
    identity = {
        "format": FORMAT,
        "settings": asdict(settings),
        "inputs": {name: entry["sha256"] for name, entry in inputs.items()},
    }
    num_bags_R = np.bincount(parts["train"].relations.value, minlength=len(relations))
    return {
        "format": FORMAT,
        "sayso": __version__,
        "fingerprint": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16],
        "settings": asdict(settings),
        "inputs": inputs,
        "parts": {name: _part(table) for name, table in parts.items()},
        "relations": {"num": len(relations), "num_without_training_bag": int((num_bags_R == 0).sum())},
        "entities": {"num": len(types.type_E), "num_types": len(types.names), "num_without_type": types.num_other},
        **reports,
    }


def _part(table: BagTable) -> dict[str, int]:
    return {
        "sentences": table.num_sentences,
        "bags": table.num_bags,
        "positive_bags": int(table.is_positive_B.sum()),
        "facts": len(table.relations.value),
        "largest_bag": int(table.size_B.max(initial=0)),
    }
