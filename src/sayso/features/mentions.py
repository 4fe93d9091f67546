"""How mentions are represented in model input, and the distance of every token to them.

Shapes: N sentences, T tokens of all of them.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sayso.store.rows import Rows, ranges, starts
from sayso.store.table import BagTable, SentenceRows, all_spans, first_mentions, replace_mentions

Appearance = Literal["words", "type", "type_and_words"]
"""How a mention is represented: as its words, as its entity's type (+F), or as the type followed by the words (+FE)."""

FARTHEST = 127
"""The largest distance that is stored (in 8 bits)."""

_SENTENCES_AT_A_TIME = 4_000
"""Small enough that intermediate columns stay in the processor's cache."""

_TOKEN_COLUMNS = ("head_distance_T", "tail_distance_T", "piece_T")


@dataclass(frozen=True, kw_only=True)
class ModelInput:
    """N sentences as a model reads them; the columns are those of `SentenceBatch`."""

    tokens: Rows
    head_distance_T: np.ndarray
    tail_distance_T: np.ndarray
    piece_T: np.ndarray

    def take(self, index: np.ndarray) -> "ModelInput":
        """Return these sentences."""
        first, length = self.tokens.extent(index)
        place = ranges(first, length)
        columns = {name: getattr(self, name)[place] for name in _TOKEN_COLUMNS}
        return ModelInput(tokens=Rows.of_lengths(self.tokens.value[place], length), **columns)


def model_input(
    table: BagTable, appearance: Appearance, num_words: int, type_E: np.ndarray, is_open: bool = False
) -> ModelInput:
    """Convert sentences to model input.

    Token ids are the model's words (below `num_words`), then entity types, then words new to the model. New words are
    mapped to the unknown word, 0, unless `is_open` is set: then they keep their ids, because the model reads any word.
    """
    step = _SENTENCES_AT_A_TIME
    pieces = [
        _model_input(
            table, np.arange(first, min(first + step, table.num_sentences)), appearance, num_words, type_E, is_open
        )
        for first in range(0, max(table.num_sentences, 1), step)
    ]
    return pieces[0] if len(pieces) == 1 else concatenate(pieces)


def concatenate(pieces: "list[ModelInput]") -> ModelInput:
    """Concatenate the sentences of all pieces."""
    columns = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in _TOKEN_COLUMNS}
    return ModelInput(tokens=Rows.concatenate([piece.tokens for piece in pieces]), **columns)


def _model_input(
    table: BagTable, index: np.ndarray, appearance: Appearance, num_words: int, type_E: np.ndarray, is_open: bool
) -> ModelInput:
    sentences = table.read_part(index)
    word_T = sentences.tokens.value
    known = word_T if is_open else np.where(word_T < num_words, word_T, 0)
    sentences = sentences._replace(tokens=Rows(known, sentences.tokens.start))
    if appearance != "words":
        bag_N = np.searchsorted(table.first_B1, index, side="right") - 1
        head = _replacement(sentences, sentences.head_spans, num_words + type_E[table.head_B[bag_N]], appearance)
        tail = _replacement(sentences, sentences.tail_spans, num_words + type_E[table.tail_B[bag_N]], appearance)
        sentences = replace_mentions(sentences, head, tail)
    return ModelInput(
        tokens=Rows(sentences.tokens.value.astype(np.int32), sentences.tokens.start),
        head_distance_T=_nearest(sentences.tokens, sentences.head_spans),
        tail_distance_T=_nearest(sentences.tokens, sentences.tail_spans),
        piece_T=_pieces(sentences),
    )


def _replacement(sentences: SentenceRows, spans: Rows, type_N: np.ndarray, appearance: Appearance) -> Rows:
    """Return the tokens that replace each sentence's mention."""
    if appearance == "type":
        return Rows(type_N, np.arange(len(type_N) + 1))
    words = first_mentions(sentences, spans)
    start = starts(words.length + 1)
    value = np.empty(start[-1], np.int64)
    value[start[:-1]] = type_N
    value[ranges(start[:-1] + 1, words.length)] = words.value
    return Rows(value, start)


def _nearest(tokens: Rows, spans: Rows) -> np.ndarray:
    """Return each token's signed distance to the nearest occurrence; negative before it, 0 inside.

    Ties go to the earlier occurrence; any distance beyond `FARTHEST`, before or after, becomes `FARTHEST`.
    """
    first_P, stop_P = _places(tokens, spans)
    place_T = np.arange(len(tokens.value))
    # How many occurrences begin at or before each token: the last of these and the next one are the nearest two.
    num_T = np.cumsum(np.bincount(first_P, minlength=len(place_T))[: len(place_T)])
    far = 2 * FARTHEST + len(place_T)
    reach_P1 = np.maximum.accumulate(np.concatenate([[-far], stop_P]))
    next_P1 = np.append(first_P, 2 * far)
    begin_T, end_T = np.repeat(tokens.start[:-1], tokens.length), np.repeat(tokens.start[1:], tokens.length)
    behind_T = np.where(reach_P1[num_T] > begin_T, np.maximum(place_T - reach_P1[num_T] + 1, 0), far)
    ahead_T = np.where(next_P1[num_T] < end_T, next_P1[num_T] - place_T, far)
    nearest_T = np.where(behind_T <= ahead_T, behind_T, -ahead_T)
    capped_T: np.ndarray = np.where(np.abs(nearest_T) <= FARTHEST, nearest_T, FARTHEST).astype(np.int8)
    return capped_T


def _places(tokens: Rows, spans: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and stops of all occurrences, in order, as positions in the concatenated tokens."""
    span_P2 = spans.value.reshape(-1, 2) + np.repeat(tokens.start[:-1], spans.length // 2)[:, None]
    if (np.diff(span_P2[:, 0]) < 0).any():
        span_P2 = span_P2[np.argsort(span_P2[:, 0], kind="stable")]
    return span_P2[:, 0], span_P2[:, 1]


def _pieces(sentences: SentenceRows) -> np.ndarray:
    """Return each token's piece: 0 up to the end of the first mention, 1 up to the end of the second, 2 after it.

    The mentions are the occurrences of head and tail that are closest to each other.
    """
    first_N, second_N = _piece_ends(sentences)
    tokens = sentences.tokens
    position_T = np.arange(len(tokens.value)) - np.repeat(tokens.start[:-1], tokens.length)
    is_past_first = position_T >= np.repeat(first_N, tokens.length)
    is_past_second = position_T >= np.repeat(second_N, tokens.length)
    piece_T: np.ndarray = is_past_first.astype(np.int8) + is_past_second.astype(np.int8)
    return piece_T


def _piece_ends(sentences: SentenceRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the stops of the first and second of the two closest occurrences.

    Ties are broken by the earlier head, then the earlier tail. Heads and tails do not overlap, so the closest two are
    neighbours.
    """
    span_P2, sentence_P, is_head_P = all_spans(sentences)
    order = np.lexsort((span_P2[:, 0], sentence_P))
    span_P2, sentence_P, is_head_P = span_P2[order], sentence_P[order], is_head_P[order]
    is_pair = (sentence_P[1:] == sentence_P[:-1]) & (is_head_P[1:] != is_head_P[:-1])
    left = np.flatnonzero(is_pair)
    gap = span_P2[left + 1, 0] - span_P2[left, 1]
    head_stop, tail_stop = (
        np.where(is_head_P[left] == is_head, span_P2[left, 1], span_P2[left + 1, 1]) for is_head in (True, False)
    )
    best = np.lexsort((tail_stop, head_stop, gap, sentence_P[left]))
    best = best[np.diff(sentence_P[left][best], prepend=-1) != 0]
    return np.minimum(head_stop, tail_stop)[best], np.maximum(head_stop, tail_stop)[best]
