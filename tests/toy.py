"""Builders of small records, so that a test shows its whole input."""

from collections.abc import Iterable

from sayso.readers.mention import find_mentions
from sayso.records import Sentence
from sayso.store.collect import BagBuilder
from sayso.store.group import Grouped, group_lines
from sayso.store.vocabulary import Vocabulary


def make_sentence(
    text: str, head: str = "h", tail: str = "t", relations: tuple[str, ...] = (), expresses: float | None = None
) -> Sentence:
    """Return a sentence whose mentions have their ids as names: `make_sentence("h lives in t")`."""
    tokens = text.split()
    head_mention, tail_mention = find_mentions(tokens, (head, head), (tail, tail))
    return Sentence(tuple(tokens), head_mention, tail_mention, relations, None, expresses)


def group_by_pair(sentences: Iterable[Sentence], vocabulary: Vocabulary, max_tokens: int = 130) -> Grouped:
    """Return the bags of the sentences, as `sayso prepare` makes them."""
    builder = BagBuilder(vocabulary, max_tokens)
    for sentence in sentences:
        builder.add(sentence)
    return group_lines(builder.lines(), vocabulary.words)
