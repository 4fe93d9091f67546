"""Rewrite directly supervised sentences in the style of the corpus.

If positives and negatives come from different sources, a sentence classifier learns the source. Direct sentences are
therefore written like the corpus (lower case, names joined by `_`), and their entities get types from the corpus: by
name if the corpus has the name, else from the argument types of the label, else drawn from the types of the other
direct entities, so that a missing type does not mean "no relation".

Their relation labels have a direction in text order, as in KBP37: e1 is the mention that comes first.
Shapes: N sentences.
"""

import random
import tomllib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sayso.records import Mention, Sentence, Source, Span
from sayso.seeding import sub_seed
from sayso.store.rows import Rows
from sayso.store.table import BagTable

NO_RELATION = "no_relation"
_SOFT_FORMS = ("crowdtruth",)
"""Formats with the fraction of people who saw a relation instead of one label per sentence."""
_TAC_KBP_TYPES = Path(__file__).with_name("tac_kbp_types.toml")


@dataclass(frozen=True, kw_only=True)
class CorpusForm:
    """Whether a corpus is in lower case, and whether its names are joined by `_`."""

    is_lower: bool
    is_joined: bool


def corpus_form(table: BagTable, words: Sequence[str], names: Iterable[str]) -> CorpusForm:
    """Detect how the corpus is written from its words, its names and the number of tokens per mention.

    A corpus counts as lower case if at most 1 token in 1,000 has a capital letter.
    """
    has_upper_V = np.array([word != word.lower() for word in words], bool)
    num_upper = int(has_upper_V[table.tokens.value].sum())
    spans = table.head_spans.value.reshape(-1, 2)
    is_one_token = bool((spans[:, 1] - spans[:, 0] == 1).mean() > 0.99) if len(spans) else False
    return CorpusForm(
        is_lower=num_upper <= 0.001 * len(table.tokens.value),
        is_joined=is_one_token and any("_" in name for name in names),
    )


def in_form(sentence: Sentence, form: CorpusForm) -> Sentence:
    """Return the sentence in the style of the corpus, with joined names in its mentions too."""
    written = rewrite(sentence, form)
    if not form.is_joined:
        return written
    return written._replace(head=_named(written.head, written.tokens), tail=_named(written.tail, written.tokens))


def rewrite(sentence: Sentence, form: CorpusForm, words: Container[str] | None = None) -> Sentence:
    """Rewrite the sentence like `in_form`, but keep the names of its mentions.

    If the known `words` are given, a token stays as it is if only its original form is known: a capitalised word, or a
    name that is unknown when joined or is already partly joined.
    """
    tokens = _lowered(sentence.tokens, words) if form.is_lower else sentence.tokens
    spans = (*sentence.head.spans, *sentence.tail.spans)
    if form.is_joined and any(stop - start > 1 for start, stop in spans):
        return _with_names_joined(sentence, tokens, words)
    return sentence if tokens is sentence.tokens else sentence._replace(tokens=tokens)


def _with_names_joined(sentence: Sentence, tokens: tuple[str, ...], words: Container[str] | None) -> Sentence:
    """Return the sentence with these tokens, joining those of each mention and adjusting the spans."""
    joined: list[str] = []
    moved: dict[Span, Span] = {}
    position = 0
    for span in sorted((*sentence.head.spans, *sentence.tail.spans)):
        start, stop = span
        joined += tokens[position:start]
        name = _joined(tokens[start:stop], words)
        moved[span] = Span(len(joined), len(joined) + len(name))
        joined += name
        position = stop
    joined += tokens[position:]
    head, tail = (
        Mention(entity_id, name, tuple([moved[span] for span in spans]))
        for entity_id, name, spans in (sentence.head, sentence.tail)
    )
    # `glued` and `curly` refer to the document's tokens, not to joined names.
    source = sentence.source and Source(*sentence.source[:3])
    return Sentence(tuple(joined), head, tail, sentence.relations, source, sentence.expresses)


def _named(mention: Mention, tokens: tuple[str, ...]) -> Mention:
    start, stop = mention.spans[0]
    return mention._replace(name="_".join(tokens[start:stop]))


def _lowered(tokens: tuple[str, ...], words: Container[str] | None) -> tuple[str, ...]:
    # Compare the whole text at once, because most corpora are in lower case.
    text = " ".join(tokens)
    if text.lower() == text:
        return tokens
    if words is None:
        return tuple(map(str.lower, tokens))
    return tuple(lowered(tokens, words))


def lowered(tokens: Sequence[str], words: Container[str]) -> list[str]:
    """Return the tokens in lower case, except those that are known only as they are written."""
    return [
        token if low not in words and token in words else low
        for token, low in zip(tokens, map(str.lower, tokens), strict=True)
    ]


def _joined(tokens: tuple[str, ...], words: Container[str] | None) -> tuple[str, ...]:
    name = "_".join(tokens)
    is_left = words is not None and (name not in words or any("_" in token for token in tokens))
    return tokens if is_left else (name,)


class DirectSentence(NamedTuple):
    """A directly supervised sentence and its relation label; empty if it has none."""

    sentence: Sentence
    label: str


def label_of(sentence: Sentence, form: str) -> str:
    """Return the label of a sentence in a file of this format: one relation with its direction, or `no_relation`.

    >>> diaz, reds = Mention("d", "Diaz", (Span(2, 3),)), Mention("r", "Reds", (Span(0, 1),))
    >>> label_of(Sentence(("Reds", "hire", "Diaz"), diaz, reds, ("per:employee_of",), expresses=1.0), "tagged")
    'per:employee_of(e2,e1)'
    """
    if form in _SOFT_FORMS:
        return ""
    if sentence.expresses == 0.0 and not sentence.relations:
        return NO_RELATION
    if sentence.expresses != 1.0 or len(sentence.relations) != 1:
        return ""
    is_head_first = min(sentence.head.spans) < min(sentence.tail.spans)
    return f"{sentence.relations[0]}{'(e1,e2)' if is_head_first else '(e2,e1)'}"


def in_text_order(table: BagTable) -> BagTable:
    """Return a bag per sentence whose head is the mention that comes first, which is e1 in the labels."""
    head_N, tail_N = (_first_of(spans) for spans in (table.head_spans, table.tail_spans))
    is_swapped_N, num = head_N > tail_N, table.num_sentences
    own_N, other_N = np.arange(num) + num * is_swapped_N, np.arange(num) + num * ~is_swapped_N
    spans = Rows.concatenate([table.head_spans, table.tail_spans])
    entity_N = np.concatenate([table.head_B[table.bag_N], table.tail_B[table.bag_N]])
    return replace(
        table,
        head_B=entity_N[own_N],
        tail_B=entity_N[other_N],
        head_spans=spans.take(own_N),
        tail_spans=spans.take(other_N),
        relations=Rows.empty(num),
        first_B1=np.arange(num + 1),
    )


def _first_of(spans: Rows) -> np.ndarray:
    """Return the start of each sentence's first occurrence."""
    return np.minimum.reduceat(spans.value, spans.start[:-1]) if len(spans) else np.zeros(0, np.int32)


def argument_types(relation: str) -> tuple[str, str]:
    """Return the types of both arguments of a TAC-KBP relation; empty if the name does not tell.

    >>> argument_types("per:employee_of")
    ('/person', '/organization')
    """
    head, tail = (
        next((kind for start, kind in types.items() if relation.startswith(start)), "")
        for types in _argument_types().values()
    )
    return head, tail


@cache
def _argument_types() -> dict[str, dict[str, str]]:
    return tomllib.loads(_TAC_KBP_TYPES.read_text("utf-8"))


def direct_types(
    sentences: Sequence[Sentence],
    corpus_types: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """Assign corpus types to the entities of direct sentences; `names` are the names of the corpus's entities."""
    known = {kind for kinds in corpus_types.values() for kind in kinds}
    by_name = {
        names[entity_id]: tuple(kinds) for entity_id, kinds in corpus_types.items() if kinds and entity_id in names
    }
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for entity_id, kind in _label_votes(sentences):
        while kind and kind not in known:
            kind = kind.rpartition("/")[0]
        if kind:
            votes[entity_id][kind] += 1
    mentions = {m.entity_id: m.name for sentence in sentences for m in (sentence.head, sentence.tail)}
    types = {
        entity_id: by_name.get(name) or ((votes[entity_id].most_common(1)[0][0],) if votes[entity_id] else ())
        for entity_id, name in mentions.items()
    }
    urn = [kinds for kinds in types.values() if kinds]
    draw = random.Random(sub_seed(seed, "direct types"))
    return {entity_id: kinds or (draw.choice(urn) if urn else ()) for entity_id, kinds in types.items()}


def _label_votes(sentences: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    for sentence in sentences:
        for relation in sentence.relations:
            head, tail = argument_types(relation)
            yield sentence.head.entity_id, head
            yield sentence.tail.entity_id, tail
