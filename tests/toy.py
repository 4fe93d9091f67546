"""Builders of small records, so that a test shows its whole input."""

from sayso.corpus.mention import find_mentions
from sayso.records import Sentence


def make_sentence(
    text: str, head: str = "h", tail: str = "t", relations: tuple[str, ...] = (), expresses: float | None = None
) -> Sentence:
    """Return a sentence whose mentions are named like their ids: `make_sentence("h lives in t")`."""
    tokens = text.split()
    head_mention, tail_mention = find_mentions(tokens, (head, head), (tail, tail))
    return Sentence(tuple(tokens), head_mention, tail_mention, relations, None, expresses)
