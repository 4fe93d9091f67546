"""Prepare a store from input files, stage by stage."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sayso import __version__
from sayso.documents.corpus import built_corpus
from sayso.engine import Engine
from sayso.errors import BadInputError, option
from sayso.input_file import refuse_missing
from sayso.io.atomic import atomic_folder
from sayso.readers.tables import read_entity_types, read_inventory, refuse_no_type
from sayso.records import OnProgress, Relation, Sentence
from sayso.store import leakage
from sayso.store.block import SentenceBlock
from sayso.store.collect import BagBuilder, Lines
from sayso.store.columns import Column
from sayso.store.direct import DirectSentence, corpus_form, direct_types, in_form, label_of
from sayso.store.folds import fold_report, na_shares, pair_folds, read_unlabelled, rest_share
from sayso.store.group import Grouped, group_lines
from sayso.store.inputs import FactDecisions, Inputs, PrepareSettings, SentenceFiles, decisions_of
from sayso.store.marks import MarkTargets, match_marks
from sayso.store.parallel import read_blocks, read_with_workers
from sayso.store.store import DIRECT_LABELS, FORMAT, folds_file, marks_file, refuse_no_store, write_store
from sayso.store.table import NO_LABEL, BagTable
from sayso.store.vocabulary import TypedEntities, Vocabulary, count_mentions, entity_vectors, finest_types, order_words


def prepare(
    inputs: Inputs,
    settings: PrepareSettings,
    out: Path,
    on_progress: OnProgress,
    overwrite: bool = False,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Write a store made from these files to `out`, atomically, and return its manifest.

    If an engine is given, its workers read the training and test sentences; the result is the same.

    Raises:
        UserError: the folder is not empty (with `overwrite`: contains anything but a store); raised before any work.
    """
    inputs = inputs.resolved(with_rest=settings.folds > 0 or bool(inputs.decisions and built_corpus(inputs.train)))
    refuse_missing(path for _, path in inputs.files())
    if overwrite:
        refuse_no_store(out)
    with atomic_folder(out, overwrite=overwrite) as folder:
        return _Preparation(inputs, settings, on_progress, engine).write(folder)


class _Preparation:
    """The stages, their shared vocabulary and their reports."""

    def __init__(
        self, inputs: Inputs, settings: PrepareSettings, on_progress: OnProgress, engine: Engine | None
    ) -> None:
        self.inputs, self.settings, self.on_progress = inputs, settings, on_progress
        self.files = SentenceFiles(inputs=inputs, settings=settings, on_progress=on_progress)
        self.engine, relations = self.files.workers(engine), inputs.relations
        self.inventory = read_inventory(relations) if relations else None
        self.vocabulary = Vocabulary([relation.name for relation in self.inventory or ()])
        self.decisions, self.folds = FactDecisions(), dict[str, dict[str, Column]]()
        self.reports: dict[str, Any] = {"read": {}, "na_share": na_shares(inputs)}

    def write(self, folder: Path) -> dict[str, Any]:
        """Run all stages, write the store and return the manifest."""
        train, test = self._read("train"), self._read("test") if self.inputs.test else None
        train = self._without_leakage(train, test)
        parts = self._folds(train, test) if self.settings.folds else self._split(train)
        parts |= {"test": test.table} if test else {}
        direct = self._read_direct(train, test)
        if direct:
            parts["direct"] = self._group_direct(direct).table
        types = self._types(parts["train"], [each.sentence for each in direct])
        if self.inputs.vectors:
            self.on_progress("reading word vectors", 0, 0)
        words = order_words(list(self.vocabulary.words), self._names(), parts["train"], self.inputs.vectors)
        parts = {name: words.renumber(table) for name, table in parts.items()}
        ids = list(self.vocabulary.entities)
        vector_ED, self.reports["entity_vectors"] = entity_vectors(
            ids, words.name_vector_ED, self.inputs.entity_vectors
        )
        marks = match_marks(self.inputs.marks, self._mark_targets(parts, words.words), self.settings.max_bad_share)
        relations = self.inventory or [Relation(name) for name in self.vocabulary.relations]
        self.reports |= {"words": words.report, "marks": marks.report}
        files: dict[str, dict[str, Column]] = {
            "words": {"word": words.words, "count": words.frequency},
            "vectors": {"vector": words.vector_VD},
            "entities": {"id": ids, "name": self._names(), "type": types.type_E, "vector": vector_ED},
            "types": {"name": types.names},
            "documents": {"id": list(self.vocabulary.documents)},
            **self.folds,
            **{marks_file(part): dict(columns) for part, columns in marks.columns.items() if columns["label"]},
            "relations": {
                "name": [relation.name for relation in relations],
                "definition": [relation.definition for relation in relations],
                "example": [relation.example for relation in relations],
                "functional": np.array([relation.is_functional for relation in relations], np.uint8),
            },
        }
        if labels := _labels_of(direct):
            files[DIRECT_LABELS] = {"name": labels}
        manifest = _manifest(self.settings, self.files.fingerprints(), parts, types, len(relations)) | self.reports
        self.on_progress("writing the store", 0, 0)
        return write_store(folder, files, parts, manifest)

    def _read(self, part: str) -> Grouped:
        known = self.vocabulary.relations if self.inventory else None
        is_decided = part == "train" and bool(self.inputs.decisions)
        decisions = decisions_of(self.inputs.decisions if is_decided else (), known)
        if self.engine:
            roles, inventory = ("train", "rest") if is_decided else (part,), list(known) if known else None
            lines = read_with_workers(self.engine, self.files, roles, self.vocabulary, inventory, decisions)
        else:
            decided = decisions.applied(self.files.read(part, known), self.files.read("rest", known))
            lines = self._lines(decided if is_decided else self.files.read_with(read_blocks, part, known))
        if is_decided:
            self.decisions, self.reports["overruled"] = decisions, decisions.report()
        return self._grouped(part, lines)

    def _lines(self, sentences: Iterable[Sentence | SentenceBlock]) -> Lines:
        return BagBuilder(self.vocabulary, self.settings.max_tokens).add_all(sentences).lines()

    def _group_direct(self, direct: Sequence[DirectSentence]) -> Grouped:
        """Group directly supervised sentences, each with its own label and without relations of the inventory."""
        builder, labels = BagBuilder(self.vocabulary, self.settings.max_tokens), _labels_of(direct)
        for sentence, label in direct:
            builder.add(sentence._replace(relations=()), labels.index(label) if label else NO_LABEL)
        grouped = self._grouped("direct", builder.lines())
        num = int((grouped.table.label_N != NO_LABEL).sum())
        self.reports["direct_labels"] = {"num": len(labels), "num_sentences": num} if num else {}
        return grouped

    def _grouped(self, part: str, lines: Lines) -> Grouped:
        grouped = group_lines(lines, self.vocabulary.words)
        self.reports["read"][part] = _counts(grouped)
        return grouped

    def _without_leakage(self, train: Grouped, test: Grouped | None) -> Grouped:
        if test is None:
            return train
        found = leakage.find_leakage(train, test)
        self.reports["leakage"] = asdict(found)
        if self.settings.leak == "refuse":
            leakage.refuse_leakage(found, train.num_sentences_read)
        if self.settings.leak == "drop":
            train = leakage.without_pairs_of(train, test.table)
            # Sentences of other pairs are kept, even if they are also test sentences.
            found = leakage.find_leakage(train, test)
            self.reports["leakage"]["test_sentences_in_train"] = found.test_sentences_in_train
        return train

    def _split(self, train: Grouped) -> dict[str, BagTable]:
        settings = self.settings
        split = leakage.split_by_pair(train, settings.validation_share, settings.seed, settings.keep_shared_sentences)
        self.reports["split"] = _counts(split)
        if not split.train.num_bags:
            raise self._no_training(split)
        if report := self.reports.get("overruled"):
            num, *num_kept = (
                self.decisions.num_facts_of(table, self.vocabulary.entities)
                for table in (train.table, split.train, split.validation)
            )
            report["num_facts_left_out_by_split"] = num - sum(num_kept)
        return {"train": split.train, "validation": split.validation}

    def _folds(self, train: Grouped, test: Grouped | None) -> dict[str, BagTable]:
        """Return all pairs as the training part, and the unlabelled pairs of `rest`, if there are any."""
        parts, fold_B = {"train": train.table}, self._number_folds("train", train.table)
        self.reports["folds"] = report = fold_report(train, fold_B, self.settings.folds)
        if 0 in report["num_facts"]:
            raise BadInputError(f"{self.inputs.train}: a fold has no facts: choose fewer {option('folds')}")
        if self.inputs.rest:
            report["rest_share"] = share = rest_share(self.inputs.rest)
            rest = self._grouped("rest", self._lines(read_unlabelled(self.files, share, self.settings.seed)))
            for known in (train, test):
                rest = leakage.without_pairs_of(rest, known.table) if known else rest
            report["num_rest_pairs"] = rest.table.num_bags
            if rest.table.num_bags:
                parts["rest"], _ = rest.table, self._number_folds("rest", rest.table)
        self.reports.get("overruled", {})["num_facts_left_out_by_split"] = 0
        return parts

    def _number_folds(self, part: str, table: BagTable) -> np.ndarray:
        """Return the fold of each pair, and keep it for the store."""
        settings, ids = self.settings, list(self.vocabulary.entities)
        found = pair_folds(table, ids, settings.folds, settings.seed, self.reports["na_share"]["train"])
        self.folds[folds_file(part)] = {"fold": found.fold_B, "stays": found.stays_B.astype(np.uint8)}
        return found.fold_B

    def _no_training(self, split: leakage.Split) -> BadInputError:
        """Return the error for a store without training pairs, with counts of why pairs were left out."""
        is_dropped = self.settings.leak == "drop" and "leakage" in self.reports
        counts = {
            "left out as test pairs": self.reports["leakage"]["test_pairs_in_train"] if is_dropped else 0,
            "in validation": split.validation.num_bags,
            "left out because their sentences are in validation": split.num_train_pairs_left_out,
        }
        shown = ", ".join(f"{num:,} {what}" for what, num in counts.items() if num)
        return BadInputError(
            f"{self.inputs.train}: no pairs are left for training ({shown or 'all sentences are too long'}):"
            " choose a file with sentences about other pairs"
        )

    def _read_direct(self, train: Grouped, test: Grouped | None) -> list[DirectSentence]:
        """Return the directly supervised sentences, written like the corpus, without those in the test part."""
        form = corpus_form(train.table, list(self.vocabulary.words), self.vocabulary.entity_name.values())
        self.reports["form"] = asdict(form)
        direct = [
            DirectSentence(in_form(sentence, form), label_of(sentence, file_form))
            for file_form, sentence in self.files.read_with_form("direct")
        ]
        if test is None or not direct:
            return direct
        in_test = leakage.are_in_test([each.sentence for each in direct], test.table, list(self.vocabulary.words))
        self.reports["leakage"]["direct_sentences_in_test"] = sum(in_test)
        if self.settings.leak == "allow":
            return direct
        return [each for each, is_in_test in zip(direct, in_test, strict=True) if not is_in_test]

    def _types(self, train: BagTable, direct: Sequence[Sentence]) -> TypedEntities:
        ids, types = list(self.vocabulary.entities), {}
        if self.inputs.types:
            types = read_entity_types(self.inputs.types, self.vocabulary.relations)
            refuse_no_type(self.inputs.types, types, self.vocabulary.entities)
        if direct:
            names = dict(zip(ids, self._names(), strict=True))
            types = {**direct_types(direct, types, names, self.settings.seed), **types}
        return finest_types(ids, types, count_mentions(train, len(ids)))

    def _mark_targets(self, parts: Mapping[str, BagTable], words: Sequence[str]) -> dict[str, MarkTargets]:
        """Return what marks are matched to; marks on a pair in several parts (`leak`) are for evaluation."""

        def targets(table: BagTable) -> MarkTargets:
            return MarkTargets(
                table=table,
                entities=self.vocabulary.entities,
                relations=self.vocabulary.relations,
                text=lambda row: " ".join(words[number] for number in table.tokens.row(row).tolist()),
            )

        return {part: targets(parts[part]) for part in ("test", "validation", "train") if part in parts}

    def _names(self) -> list[str]:
        """Return the first name of each entity; empty for one whose sentences were all left out."""
        return [self.vocabulary.entity_name.get(number, "") for number in range(len(self.vocabulary.entities))]


def _labels_of(direct: Sequence[DirectSentence]) -> list[str]:
    """Return the labels that occur, in alphabetical order."""
    return sorted({each.label for each in direct if each.label})


def _counts(report: object) -> dict[str, int]:
    """Return the counts in a stage's result."""
    return {name: value for name, value in vars(report).items() if name.startswith("num_")}


def _manifest(
    settings: PrepareSettings,
    inputs: dict[str, dict[str, Any]],
    parts: dict[str, BagTable],
    types: TypedEntities,
    num_relations: int,
) -> dict[str, Any]:
    """Return the manifest; its fingerprint covers the content of the inputs and the settings, not the paths."""
    identity = {
        "format": FORMAT,
        "settings": settings.identity(),
        "inputs": {name: entry["sha256"] for name, entry in inputs.items()},
    }
    num_bags_R = np.bincount(parts["train"].relations.value, minlength=num_relations)
    return {
        "format": FORMAT,
        "sayso": __version__,
        "fingerprint": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16],
        "settings": asdict(settings),
        "inputs": inputs,
        "parts": {name: _part_counts(table) for name, table in parts.items()},
        "relations": {"num": num_relations, "num_without_training_bag": int((num_bags_R == 0).sum())},
        "entities": {"num": len(types.type_E), "num_types": len(types.names), "num_without_type": types.num_other},
    }


def _part_counts(table: BagTable) -> dict[str, int]:
    return {
        "sentences": table.num_sentences,
        "bags": table.num_bags,
        "positive_bags": int(table.is_positive_B.sum()),
        "facts": len(table.relations.value),
        "largest_bag": int(table.size_B.max(initial=0)),
    }
