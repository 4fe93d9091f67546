"""The paper's expl-eval tuples: a fact, a sentence that says so, and one that does not."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from sayso.annotate.majority import IRRELEVANT, RATIONALE, majority
from sayso.io.atomic import atomic_file
from sayso.readers.json_line import json_object, string
from sayso.readers.lines import read_lines
from sayso.readers.rationale import MarkItem, marks_of
from sayso.records import Mark, Triple


def write_tuples(path: Path, marks: Iterable[Mark]) -> int:
    """Write every tuple of each fact as a JSON line; return how many marks are in no tuple.

    Of several people's marks on a sentence the majority counts.
    """
    facts: dict[Triple, dict[str, list[str]]] = {}
    num_marks = 0
    for head_id, tail_id, relation, sentence, label, _ in marks:
        facts.setdefault(Triple(head_id, relation, tail_id), {}).setdefault(sentence, []).append(label)
        num_marks += 1
    num_used = 0
    with atomic_file(path) as file:
        for fact, sentences in facts.items():
            voted = {text: majority(labels) for text, labels in sentences.items()}
            sides = [[text for text, label in voted.items() if label == side] for side in (RATIONALE, IRRELEVANT)]
            if all(sides):
                num_used += sum(len(sentences[text]) for side in sides for text in side)
            for rationale in sides[0]:
                for irrelevant in sides[1]:
                    file.write(_line(fact, rationale, irrelevant))
    return num_marks - num_used


def read_tuples(path: Path) -> Iterator[MarkItem]:
    """Yield the two marks of each line, in order; a sentence comes as often as it is in a tuple."""
    return marks_of(read_lines(path), _parse)


def _parse(text: str) -> Iterator[Mark]:
    record = json_object(text)
    head_id, tail_id, relation = (string(record, key) for key in ("head", "tail", "relation"))
    for side in (RATIONALE, IRRELEVANT):
        yield Mark(head_id, tail_id, relation, string(record, side), side)


def _line(fact: Triple, rationale: str, irrelevant: str) -> str:
    record = {"head": fact.head_id, "tail": fact.tail_id, "relation": fact.relation}
    return json.dumps({**record, RATIONALE: rationale, IRRELEVANT: irrelevant}, ensure_ascii=False) + "\n"
