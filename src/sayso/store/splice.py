"""Other words where the mentions stand: what +F, +FE and distractors do to sentences, for all sentences at once.

Shapes: N sentences, T tokens of all of them, P occurrences of mentions.
"""

from typing import NamedTuple

import numpy as np

from sayso.store.rows import Rows, ranges, starts


class Marked(NamedTuple):
    """Sentences and where each names its head and its tail (start, stop, start, stop, … per sentence)."""

    tokens: Rows
    head_spans: Rows
    tail_spans: Rows


def replace_mentions(marked: Marked, head: Rows, tail: Rows) -> Marked:
    """Return the sentences with every occurrence of a mention replaced by the sentence's row of `head` or `tail`.

    No row of either may be empty.
    """
    tokens = marked.tokens
    span_P2, sentence_P, is_head_P = all_spans(marked)
    first_P = tokens.start[sentence_P] + span_P2[:, 0]
    width_P = span_P2[:, 1] - span_P2[:, 0]
    with_length_P = np.where(is_head_P, head.length[sentence_P], tail.length[sentence_P])
    # Each token gives one token; the first of a mention as many as stand in for it, its others none.
    given_T = np.ones(len(tokens.value), np.int64)
    given_T[ranges(first_P, width_P)] = 0
    given_T[first_P] = with_length_P
    place_T = starts(given_T)
    value = np.repeat(tokens.value, given_T)
    new_first_P = place_T[first_P]
    target = ranges(new_first_P, with_length_P)
    source_start_P = np.where(is_head_P, head.start[:-1][sentence_P], tail.start[:-1][sentence_P])
    source = ranges(source_start_P, with_length_P)
    from_head = np.repeat(is_head_P, with_length_P)
    value[target[from_head]] = head.value[source[from_head]]
    value[target[~from_head]] = tail.value[source[~from_head]]
    new_tokens = Rows(value, place_T[tokens.start])
    new_span_P2 = np.stack([new_first_P, new_first_P + with_length_P], axis=1) - new_tokens.start[sentence_P][:, None]
    return Marked(
        new_tokens,
        Rows(new_span_P2[is_head_P].ravel().astype(np.int32), marked.head_spans.start),
        Rows(new_span_P2[~is_head_P].ravel().astype(np.int32), marked.tail_spans.start),
    )


def cut_to_window(marked: Marked, window_N2: np.ndarray) -> Marked:
    """Return the part of each sentence inside its window; occurrences outside are gone, cut ones shortened."""
    length_N = window_N2[:, 1] - window_N2[:, 0]
    kept = ranges(marked.tokens.start[:-1] + window_N2[:, 0], length_N)
    return Marked(
        Rows.of_lengths(marked.tokens.value[kept], length_N),
        _cut_spans(marked.head_spans, window_N2, length_N),
        _cut_spans(marked.tail_spans, window_N2, length_N),
    )


def first_mentions(marked: Marked, spans: Rows) -> Rows:
    """Return the tokens of the first occurrence in each sentence."""
    first_N, stop_N = spans.value[spans.start[:-1]], spans.value[spans.start[:-1] + 1]
    length_N = (stop_N - first_N).astype(np.int64)
    return Rows.of_lengths(marked.tokens.value[ranges(marked.tokens.start[:-1] + first_N, length_N)], length_N)


def _cut_spans(spans: Rows, window_N2: np.ndarray, length_N: np.ndarray) -> Rows:
    span_P2, sentence_P = spans.value.reshape(-1, 2), np.repeat(np.arange(len(spans)), spans.length // 2)
    moved = span_P2 - window_N2[sentence_P, :1]
    moved = np.clip(moved, 0, length_N[sentence_P][:, None])
    is_left_P = moved[:, 1] > moved[:, 0]
    num_N = np.bincount(sentence_P[is_left_P], minlength=len(spans))
    return Rows.of_lengths(moved[is_left_P].ravel().astype(np.int32), 2 * num_N)


def all_spans(marked: Marked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the occurrences of heads, then of tails: span, sentence, whether it is a head."""
    parts = (marked.head_spans, marked.tail_spans)
    span_P2 = np.concatenate([spans.value.reshape(-1, 2) for spans in parts]).astype(np.int64)
    sentence_P = np.concatenate([np.repeat(np.arange(len(spans)), spans.length // 2) for spans in parts])
    num_heads = len(parts[0].value) // 2
    return span_P2, sentence_P, np.arange(len(span_P2)) < num_heads
