"""The bag of a store that somebody asks about, found by ids or names."""

from dataclasses import replace

import numpy as np

from sayso.errors import UserError, option
from sayso.explain.bag import AskedBag
from sayso.explain.marks import Marks
from sayso.explain.subject import Subject
from sayso.features.collate import Part
from sayso.metrics.marked import IRRELEVANT, RATIONALE
from sayso.records import sentence_key
from sayso.store.store import Store

MARK_NAMES = {RATIONALE: "rationale", IRRELEVANT: "irrelevant"}


def find_bag(subject: Subject, head: str, tail: str) -> int:
    """Return the bag of the pair in the subject's part; an unknown or ambiguous pair is a `UserError`."""
    heads, tails = _numbers(subject.store, head), _numbers(subject.store, tail)
    table = subject.part.table
    found = np.flatnonzero(np.isin(table.head_B, heads) & np.isin(table.tail_B, tails))
    where = f"{subject.store.folder}: the {subject.part_name} part"
    if not len(found):
        turned = np.isin(table.head_B, tails) & np.isin(table.tail_B, heads)
        hint = f": try another {option('part')}"
        if turned.any():
            hint = f", but it has the pair the other way round: swap {option('head')} and {option('tail')}"
        raise UserError(f"{where} has no bag of head {head!r} and tail {tail!r}{hint}")
    if len(found) > 1:
        ids = subject.store.entities["id"]
        pairs = [f"{ids[int(table.head_B[bag])]} {ids[int(table.tail_B[bag])]}" for bag in found[:5].tolist()]
        raise UserError(f"{where} has {len(found)} pairs of these names: give ids, such as {'; '.join(pairs)}")
    return int(found[0])


def ask_alone(subject: Subject, index: int, marks: Marks) -> AskedBag:
    """Return a bag of the subject's part as `ask_store` does, but as a part of its own."""
    table = subject.part.table.take_bags(np.array([index]))
    part = Part(table=table, presented=subject.read_table(table), num_relations=subject.part.num_relations)
    return replace(ask_store(subject, index, marks), part=part, first_row=0)


def ask_store(subject: Subject, index: int, marks: Marks) -> AskedBag:
    """Return a bag of the subject's part with people's marks on its sentences."""
    table, lexicon = subject.part.table, subject.model.lexicon
    bag = subject.store.bag(table, index)
    first, stop = table.first_B1[index : index + 2].tolist()
    named = {number: relation.name for number, relation in enumerate(subject.model.relations)}
    return AskedBag(
        part=subject.part,
        sentences=bag.sentences,
        head_type=lexicon.types[int(lexicon.type_E[table.head_B[index]])],
        tail_type=lexicon.types[int(lexicon.type_E[table.tail_B[index]])],
        first_row=first,
        labels=bag.relations,
        marks={
            (named[relation], row - first): MARK_NAMES.get(mark, "")
            for (row, relation), mark in marks.of_sentences(first, stop).items()
        },
    )


def _numbers(store: Store, wanted: str) -> list[int]:
    """Return the entities of this id, or else of this name, upper and lower case alike."""
    ids = store.entities["id"].to_pylist()
    if wanted in ids:
        return [ids.index(wanted)]
    key = sentence_key(wanted).lower()
    names = store.entities["name"].to_pylist()
    found = [number for number, name in enumerate(names) if sentence_key(name).lower() == key]
    if not found:
        raise UserError(f"{store.folder}: no entity has the id or the name {wanted!r}")
    return found
