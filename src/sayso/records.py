"""The words everybody uses: frozen records that travel between the layers.

Spans count tokens, from `start` up to but not including `stop`. NA is not a relation but the empty set of relations.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from sayso.tokens import Span as Span
from sayso.tokens import control_character, keep_apart, locate_freely, tokenise

NA_NAMES = frozenset({"NA", "no_relation", "Other"})
"""How corpora write "none of the relations"; readers turn each of them into the empty set."""


class OnProgress(Protocol):
    """Progress callback: what is being done, done, total (0 when unknown), and a note such as the speed."""

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Show the progress."""


def no_progress(what: str, done: int, total: int, note: str = "") -> None:
    """Ignore progress: the default of functions that report it."""


class Mention(NamedTuple):
    """An entity as one sentence names it, once or several times."""

    entity_id: str
    name: str
    spans: tuple[Span, ...]


class Source(NamedTuple):
    """Where a sentence stands in its document, in characters, and how the document writes its tokens.

    `glued` are the numbers of the tokens that follow the one before them without white space, `curly` of those that the
    document writes with ’ where the token has '; both rising.
    """

    document_id: str
    start: int
    stop: int
    glued: tuple[int, ...] = ()
    curly: tuple[int, ...] = ()


class Sentence(NamedTuple):
    """Tokens with a head and a tail mention, and what its line claims about the pair.

    `expresses` is for directly supervised sentences only: how sure a person is that the sentence states a relation
    of the knowledge base between the two (1 yes, 0 no); None where nobody has said.
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
        """Return the sentence that a text holds, with the two names found in it; a name stands in for a missing id.

        A name that the text does not have is a `ValueError`, and so is a control character in an id or a name.

        >>> Sentence.from_text("Windhoek is Namibia's capital.", head="namibia", tail="windhoek").head.spans
        (Span(start=2, stop=3),)
        """
        if found_control := control_character(head, tail, head_id or "", tail_id or ""):
            raise ValueError(f"ids and names must be without control characters, and {found_control} is in one")
        tokens = tokenise(text)
        found = []
        for name in (head, tail):
            found.append(locate_freely(tokens, name))
            if not found[-1]:
                raise ValueError(f"{name!r} is not named in {text!r}")
        try:
            head_spans, tail_spans = keep_apart(*found)
        except ValueError:
            raise ValueError(f"{head!r} and {tail!r} are the same words in {text!r}") from None
        return cls(
            tuple(tokens), Mention(head_id or head, head, head_spans), Mention(tail_id or tail, tail, tail_spans)
        )

    @property
    def text(self) -> str:
        """The tokens joined by spaces: what identifies the sentence."""
        return " ".join(self.tokens)

    @property
    def written(self) -> str:
        """The sentence as its document writes it, any white space as one space; the text where there is no source.

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
    """The distinct sentences of one entity pair and the relations the knowledge base holds for it."""

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
        """Return the bag of sentences that all name the same pair: records, or plain texts with the two names.

        The bag's labels are `relations` and those of the records. A text without one of the names is a `ValueError`.

        >>> Bag.from_sentences(["Windhoek lies in Namibia.", "Namibia loves Windhoek."], "Namibia", "Windhoek").head_id
        'Namibia'
        """
        if isinstance(sentences, str):
            raise TypeError("a list of sentences is expected, not a single text: write [text]")
        records = []
        for number, sentence in enumerate(sentences, 1):
            if isinstance(sentence, str):
                if not head or not tail:
                    raise ValueError('plain texts need the names of the pair: head="...", tail="..."')
                try:
                    sentence = Sentence.from_text(sentence, head, tail, head_id, tail_id)
                except ValueError as error:
                    raise ValueError(f"sentence {number}: {error}") from None
            records.append(sentence)
        pairs = {sentence.pair for sentence in records}
        if len(pairs) != 1:
            raise ValueError(f"a bag has the sentences of one pair, not of {len(pairs)}")
        ((head_id, tail_id),) = pairs
        labels = {relation for sentence in records for relation in sentence.relations}
        return cls(head_id, tail_id, tuple(records), frozenset(labels.union(relations)))


class Prediction(NamedTuple):
    """A fact that a model finds in a bag."""

    head_id: str
    tail_id: str
    relation: str
    probability: float


class Relation(NamedTuple):
    """A relation of the inventory; definition and example are empty where the inventory gives none."""

    name: str
    definition: str = ""
    example: str = ""
    is_functional: bool = False


class Triple(NamedTuple):
    """A fact of a knowledge graph."""

    head_id: str
    relation: str
    tail_id: str


class Mark(NamedTuple):
    """One person's mark: whether a sentence says that the pair stands in the relation.

    `label` is `rationale`, `irrelevant`, or anything else for "neither" (unsure, indirect).
    """

    head_id: str
    tail_id: str
    relation: str
    sentence: str
    label: str
    annotator: str = ""


class Evidence(NamedTuple):
    """A sentence of an explained bag: every mechanism's score for the fact, and its place by the one that ranks.

    `seen` are the words (or types) that the model read and `word_scores` what each contributed; without scores where
    the sentence is not among the first. `mark` is people's: `rationale`, `irrelevant` or nothing.
    """

    sentence: Sentence
    scores: dict[str, float]
    rank: int
    is_in_smallest: bool
    seen: tuple[str, ...]
    word_scores: tuple[float, ...] = ()
    mark: str = ""


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
    """What a prediction rests on: the size of the smallest set of sentences that keeps it, and the probability with
    that set alone, without it, and without any sentence.

    `kind` is one of SUPPORT_LABELS: without the set the prediction falls (`one_sentence`, or `sentences_together` where
    the set has several), the other sentences keep it too (`several_sentences` where at least two alone reach the
    threshold, else `sentences_together`), it is there without any sentence (`not_sentences`), or there is none
    (`not_predicted`). `num_enough` is how many alone reach the threshold; it is counted where the others keep it too.
    """

    kind: str
    num_smallest: int
    probability_with: float
    probability_without: float
    probability_of_none: float
    num_enough: int | None = None


def support_kind(kind: str, num_smallest: int) -> str:
    """Return the kind of support by its present name; sayso 0.1 had others, which are read until 0.3.

    >>> support_kind("stated", 1), support_kind("stated", 3), support_kind("one_sentence", 1)
    ('one_sentence', 'sentences_together', 'one_sentence')
    """
    if kind == "stated":
        return ONE_SENTENCE if num_smallest == 1 else SENTENCES_TOGETHER
    return {"repeated": SEVERAL_SENTENCES, "no_sentence": NOT_SENTENCES}.get(kind, kind)


def as_written(tokens: Sequence[str], source: Source | None) -> list[tuple[str, str]]:
    """Return each token as its document writes it, and in front what stands between it and the one before.

    >>> as_written(("it", "'s", "so"), Source("d", 0, 7, glued=(1,), curly=(1,)))
    [('', 'it'), ('', '’s'), (' ', 'so')]
    """
    written = [(" ", token) for token in tokens]
    written[:1] = [("", token) for token in tokens[:1]]
    for number in source.glued if source else ():
        written[number] = "", tokens[number]
    for number in source.curly if source else ():
        written[number] = written[number][0], tokens[number].replace("'", "’")
    return written


def sentence_key(text: str) -> str:
    """Return the form in which two sentences are the same sentence: names joined by `_` or not.

    One sentence serves many pairs, and corpora join the two names of each pair (`el_paso`), so that the same
    sentence is written differently for every pair.

    >>> sentence_key("from el_paso to del rio")
    'from el paso to del rio'
    """
    return text.replace("_", " ")
