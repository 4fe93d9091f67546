import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from sayso.features.mentions import ModelInput
from sayso.store.rows import Rows
from sayso.train.gpu import tokens as module
from sayso.train.gpu.tokens import EMPTY, TokenSpace, distinct_words, shared_space, with_columns

CPU = torch.device("cpu")


def inputs(lengths: list[int], first: int = 0) -> ModelInput:
    """Return sentences of these lengths whose tokens are all different."""
    token_T = first + np.arange(sum(lengths), dtype=np.int32)
    small_T = (token_T % 100).astype(np.int8)
    return ModelInput(
        tokens=Rows.of_lengths(token_T, np.array(lengths, np.int64)),
        head_distance_T=small_T,
        tail_distance_T=-small_T,
        piece_T=small_T % 3,
    )


@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_sentences_are_taken_in_any_order_and_again(lengths: list[int], seed: int) -> None:
    space = TokenSpace.of([inputs(lengths)], CPU).plus(inputs([2, 3], first=1000))
    chosen = np.random.default_rng(seed).integers(0, space.num_sentences, 6)
    taken = space.take(torch.from_numpy(chosen))
    expected: list[int] = []
    starts = [0, *np.cumsum(lengths).tolist()]
    for sentence in chosen.tolist():
        if 0 < sentence <= len(lengths):
            expected += range(starts[sentence - 1], starts[sentence])
        elif sentence > len(lengths):
            expected += [1000, 1001] if sentence == len(lengths) + 1 else [1002, 1003, 1004]
    token_T, head_T, tail_T, piece_T = taken.columns
    assert token_T.tolist() == expected
    assert head_T.tolist() == [token % 100 for token in expected]
    assert torch.equal(tail_T, -head_T)
    assert torch.equal(piece_T, head_T % 3)
    assert int(taken.length_S.sum()) == len(expected)


def test_the_empty_sentence_has_no_tokens() -> None:
    assert TokenSpace.of([inputs([3])], CPU).take(torch.tensor([EMPTY, EMPTY])).columns[0].numel() == 0


def test_runs_that_read_the_same_sentences_share_them() -> None:
    one, other = inputs([2, 2]), inputs([2, 2])
    held = shared_space([one], CPU)
    assert shared_space([one], CPU) is held
    assert shared_space([other], CPU) is not held


NUM_WORDS, NUM_TYPES = 7, 3


@given(
    steps=st.lists(st.lists(st.integers(0, NUM_WORDS + NUM_TYPES - 1), max_size=9), min_size=1, max_size=5),
    at_a_time=st.integers(1, 30),
)
def test_every_token_finds_its_word_or_its_type(steps: list[list[int]], at_a_time: int) -> None:
    before, module._MARKS_AT_A_TIME = module._MARKS_AT_A_TIME, at_a_time
    try:
        tokens = torch.tensor([token for step in steps for token in step], dtype=torch.int32)
        start = [0, *torch.tensor([len(step) for step in steps]).cumsum(0).tolist()]
        words = distinct_words(tokens, start, NUM_WORDS)
    finally:
        module._MARKS_AT_A_TIME = before
    num_most = max(len({token for token in step if token < NUM_WORDS}) for step in steps)
    table, code_T = with_columns(words.word_UY, num_most + 1), words.codes(tokens, NUM_WORDS, num_most + 1)
    for number, step in enumerate(steps):
        own = sorted({token for token in step if token < NUM_WORDS})
        assert table[number].tolist() == own + [0] * (num_most + 1 - len(own))
        codes = code_T[start[number] : start[number + 1]].tolist()
        assert codes == [own.index(t) if t < NUM_WORDS else num_most + 1 + t - NUM_WORDS for t in step]
    assert words.word_UY.shape == (len(steps), num_most)
