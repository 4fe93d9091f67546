"""The files of one part of an invented corpus: its sentences, the truth about them, and their wordings."""

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TextIO

from sayso.invent.sample import MadeSentence
from sayso.invent.tally import PartCounts, PartTally
from sayso.readers import jsonl
from sayso.readers.mark import write_mark
from sayso.records import Mark

_BAGS_BETWEEN_REPORTS = 2_000


class PartFiles(NamedTuple):
    """Where a part's lines go."""

    sentences: Path
    rationales: Path
    wordings: Path


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write the lines, each ended by a line end."""
    with _opened(path) as file:
        for line in lines:
            file.write(line + "\n")


def write_part(
    files: PartFiles,
    bags: Iterable[list[MadeSentence]],
    training_ids: Set[str],
    on_sentences: Callable[[int], None],
) -> PartCounts:
    """Write the bags and return what was written; `on_sentences` hears now and then how many."""
    tally, num_sentences = PartTally(), 0
    with ExitStack() as stack:
        sentences, rationales, wordings = (stack.enter_context(_opened(path)) for path in files)
        wordings.write("line\twording\tin_training\n")
        for number, bag in enumerate(bags):
            for made in bag:
                num_sentences += 1
                sentences.write(jsonl.write(made.sentence) + "\n")
                is_known = made.wording.id in training_ids
                wordings.write(f"{num_sentences}\t{made.wording.id}\t{str(is_known).lower()}\n")
                rationales.writelines(write_mark(mark) + "\n" for mark in marks(made))
            tally.add(bag, sum(made.wording.id not in training_ids for made in bag))
            if number % _BAGS_BETWEEN_REPORTS == 0:
                on_sentences(num_sentences)
    return tally.counts()


def marks(made: MadeSentence) -> Iterator[Mark]:
    """Yield, for each label of the sentence's bag, whether the sentence says so."""
    sentence = made.sentence
    for relation in sentence.relations:
        label = "rationale" if relation in made.wording.states else "irrelevant"
        yield Mark(*sentence.pair, relation, sentence.text, label, "construction")


def _opened(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")
