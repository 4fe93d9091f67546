"""Records shared by all layers.

Spans are token indices, from `start` up to but not including `stop`. NA is not a relation but the empty set of
relations.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from sayso.tokens import Span as Span
from sayso.tokens import control_character, keep_apart, locate_freely, tokenise

NA_NAMES = frozenset({"NA", "no_relation", "Other"})
"""How corpora write "no relation"; readers convert all of these to the empty set."""


class OnProgress(Protocol):
    """Progress callback: the current step, amount done, total (0 if unknown), and a note such as the speed."""

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Report progress."""


def no_progress(what: str, done: int, total: int, note: str = "") -> None:
    """Ignore progress; the default callback."""


class Mention(NamedTuple):
    """An entity as mentioned in a sentence, once or several times."""

    entity_id: str
    name: str
    spans: tuple[Span, ...]


class Source(NamedTuple):
    """The position of a sentence in its document, in characters, and how the document spells its tokens.

    `glued` are the indices of tokens without white space before them, `curly` those of tokens that the document writes
    with ’ instead of '; both in ascending order.
    """

    document_id: str
    start: int
    stop: int
    glued: tuple[int, ...] = ()
    curly: tuple[int, ...] = ()


class Sentence(NamedTuple):
    """A sentence that mentions both entities of a pair; make one with `from_text` or `from_tokens`.

    Attributes:
        tokens: The words and punctuation marks.
        head: The mention of the head entity: id, name, and spans of tokens.
        tail: The mention of the tail entity.
        relations: The relations that the pair is labelled with.
        source: The position of the sentence in its document, if known.
        expresses: How likely the sentence is to state a relation, according to annotators (0 to 1); None if unknown.
    """

    tokens: tuple[str, ...]
    head: Mention
    tail: Mention
    relations: tuple[str, ...] = ()
    source: Source | None = None
    expresses: float | None = None

    @classmethod
    def from_text(
        cls, text: str, head: str, tail: str, head_id: str | None = None, tail_id: str | None = None
    ) -> "Sentence":
        """Tokenise a sentence and find the two names in it.

        Args:
            text: One sentence.
            head: The name of the head entity, as in the text; case may differ.
            tail: The name of the tail entity.
            head_id: The head's id in the knowledge base; by default its name.
            tail_id: The tail's id.

        Raises:
            ValueError: A name is not in the text or has a control character, or both names are the same words.

        Example:
            >>> Sentence.from_text("Windhoek is Namibia's capital.", head="namibia", tail="windhoek").head.spans
            (Span(start=2, stop=3),)
        """
        if found_control := control_character(head, tail, head_id or "", tail_id or ""):
            raise ValueError(f"ids and names must not contain control characters, found {found_control}")
        tokens = tokenise(text)
        found = [locate_freely(tokens, name) for name in (head, tail)]
        if not all(found):
            raise ValueError(f"{head if not found[0] else tail!r} does not appear in {text!r}")
        try:
            head_spans, tail_spans = keep_apart(*found)
        except ValueError:
            raise ValueError(f"{head!r} and {tail!r} match the same words in {text!r}") from None
        mentions = Mention(head_id or head, head, head_spans), Mention(tail_id or tail, tail, tail_spans)
        return cls(tuple(tokens), *mentions)

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[str], head: tuple[int, int], tail: tuple[int, int], head_id: str = "", tail_id: str = ""
    ) -> "Sentence":
        """Make a sentence from tokens and the spans of both mentions.

        Args:
            tokens: The words and punctuation marks.
            head: Start and stop of the head mention, as token indices; stop is exclusive.
            tail: Start and stop of the tail mention.
            head_id: The head's id in the knowledge base; by default the words of the mention.
            tail_id: The tail's id.

        Example:
            >>> Sentence.from_tokens(["Ada", "was", "born", "in", "New", "York"], (0, 1), (4, 6)).tail.name
            'New York'
        """
        first, second = (" ".join(tokens[slice(*span)]) for span in (head, tail))
        mentions = Mention(head_id or first, first, (Span(*head),)), Mention(tail_id or second, second, (Span(*tail),))
        return cls(tuple(tokens), *mentions)

    @property
    def text(self) -> str:
        """The tokens joined by spaces; this identifies the sentence."""
        return " ".join(self.tokens)

    @property
    def written(self) -> str:
        """The sentence as in its document, with white space collapsed; the same as `text` if there is no source.

        >>> sentence = Sentence.from_text("Windhoek, Namibia's capital", "Namibia", "Windhoek")
        >>> sentence.text, sentence._replace(source=Source("d", 0, 27, glued=(1, 3))).written
        ("Windhoek , Namibia 's capital", "Windhoek, Namibia's capital")
        """
        return "".join(gap + token for gap, token in as_written(self.tokens, self.source))

    @property
    def pair(self) -> tuple[str, str]:
        """Head and tail entity ids, in this order."""
        return self.head.entity_id, self.tail.entity_id


class Bag(NamedTuple):
    """The sentences of one entity pair; `relations` are its labels, possibly none."""

    head_id: str
    tail_id: str
    sentences: tuple[Sentence, ...]
    relations: frozenset[str] = frozenset()

    @classmethod
    def from_sentences(
        cls,
        sentences: Sequence["Sentence | str"],
        head: str | None = None,
        tail: str | None = None,
        *,
        head_id: str | None = None,
        tail_id: str | None = None,
        relations: Collection[str] = (),
    ) -> "Bag":
        """Make a bag from sentences that mention the same pair.

        Args:
            sentences: Strings or `Sentence` records.
            head: The name of the head entity; required for strings.
            tail: The name of the tail entity.
            head_id: The head's id in the knowledge base; by default its name.
            tail_id: The tail's id.
            relations: Labels of the bag, in addition to those of the records.

        Raises:
            TypeError, ValueError: A single string, a string without one of the names, or sentences about several pairs.

        Example:
            >>> texts = ["Windhoek lies in Namibia.", "Namibia loves Windhoek."]
            >>> len(Bag.from_sentences(texts, head="Namibia", tail="Windhoek").sentences)
            2
        """
        if isinstance(sentences, str):
            raise TypeError("expected a list of sentences, got a single string: write [text]")
        records = []
        for number, sentence in enumerate(sentences, 1):
            if isinstance(sentence, str):
                if not head or not tail:
                    raise ValueError('sentences given as strings need the entity names: head="...", tail="..."')
                try:
                    sentence = Sentence.from_text(sentence, head, tail, head_id, tail_id)
                except ValueError as error:
                    raise ValueError(f"sentence {number}: {error}") from None
            records.append(sentence)
        pairs = {sentence.pair for sentence in records}
        if len(pairs) != 1:
            raise ValueError(f"all sentences of a bag must have the same pair, got {len(pairs)} pairs")
        ((head_id, tail_id),) = pairs
        labels = {relation for sentence in records for relation in sentence.relations}
        return cls(head_id, tail_id, tuple(records), frozenset(labels.union(relations)))


class Relation(NamedTuple):
    """A relation in the inventory; definition and example may be empty."""

    name: str
    definition: str = ""
    example: str = ""
    is_functional: bool = False


class Triple(NamedTuple):
    """A fact in a knowledge graph."""

    head_id: str
    relation: str
    tail_id: str


class Mark(NamedTuple):
    """One annotator's mark: whether a sentence states that the relation holds between the pair.

    `label` is `rationale` or `irrelevant`; any other value (unsure, indirect) counts as neither.
    """

    head_id: str
    tail_id: str
    relation: str
    sentence: str
    label: str
    annotator: str = ""

    @property
    def fact(self) -> Triple:
        """The fact that the mark is about."""
        return Triple(self.head_id, self.relation, self.tail_id)


ONE_SENTENCE = "one_sentence"
SENTENCES_TOGETHER = "sentences_together"
SEVERAL_SENTENCES = "several_sentences"
NOT_SENTENCES = "not_sentences"
NOT_PREDICTED = "not_predicted"
SUPPORT_LABELS = {
    ONE_SENTENCE: "rests on one sentence",
    SENTENCES_TOGETHER: "rests on several sentences",
    SEVERAL_SENTENCES: "several sentences, each enough",
    NOT_SENTENCES: "not on the sentences",
    NOT_PREDICTED: "not predicted",
}
"""What a model's prediction rests on. This says nothing about whether the fact is true."""


class Support(NamedTuple):
    """What a prediction rests on: the size of the smallest sufficient set of sentences, and the probability with that
    set alone, without it, and without any sentence.

    `kind` is a key of SUPPORT_LABELS. Without the set, either the prediction is lost (`one_sentence`,
    `sentences_together`) or the other sentences still support it (`several_sentences`, if at least two of them reach
    the threshold alone). `num_enough` counts the sentences that do.
    """

    kind: str
    num_smallest: int
    probability_with: float
    probability_without: float
    probability_of_none: float
    num_enough: int | None = None


def support_kind(kind: str, num_smallest: int) -> str:
    """Return the current name of a kind of support; names from sayso 0.1 are accepted until 0.3.

    >>> support_kind("stated", 1), support_kind("stated", 3), support_kind("one_sentence", 1)
    ('one_sentence', 'sentences_together', 'one_sentence')
    """
    if kind == "stated":
        return ONE_SENTENCE if num_smallest == 1 else SENTENCES_TOGETHER
    return {"repeated": SEVERAL_SENTENCES, "no_sentence": NOT_SENTENCES}.get(kind, kind)


def as_written(tokens: Sequence[str], source: Source | None) -> list[tuple[str, str]]:
    """Return (preceding white space, token) pairs, as written in the document.

    >>> as_written(("it", "'s", "so"), Source("d", 0, 7, glued=(1,), curly=(1,)))
    [('', 'it'), ('', '’s'), (' ', 'so')]
    """
    written = [(" " if number else "", token) for number, token in enumerate(tokens)]
    for number in source.glued if source else ():
        written[number] = "", tokens[number]
    for number in source.curly if source else ():
        written[number] = written[number][0], tokens[number].replace("'", "’")
    return written


def sentence_key(text: str) -> str:
    """Return a key that identifies a sentence, no matter which of its names the corpus joins by `_`.

    >>> sentence_key("from el_paso to del rio")
    'from el paso to del rio'
    """
    return text.replace("_", " ")
