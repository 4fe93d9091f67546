import torch
from hypothesis import given
from hypothesis import strategies as st

from sayso.train.gpu import distinct
from sayso.train.gpu.distinct import distinct_words

NUM_WORDS, NUM_TYPES = 7, 3


@given(
    steps=st.lists(st.lists(st.integers(0, NUM_WORDS + NUM_TYPES - 1), max_size=9), min_size=1, max_size=5),
    at_a_time=st.integers(1, 30),
)
def test_every_token_finds_its_word_or_its_type(steps: list[list[int]], at_a_time: int) -> None:
    before, distinct._MARKS_AT_A_TIME = distinct._MARKS_AT_A_TIME, at_a_time
    try:
        tokens = torch.tensor([token for step in steps for token in step], dtype=torch.int32)
        start = [0, *torch.tensor([len(step) for step in steps]).cumsum(0).tolist()]
        words = distinct_words(tokens, start, NUM_WORDS)
    finally:
        distinct._MARKS_AT_A_TIME = before
    num_rows = words.num_most + 1
    table = words.table(len(steps), num_rows)
    code_T = words.codes(tokens >= NUM_WORDS, tokens - NUM_WORDS, num_rows)
    for number, step in enumerate(steps):
        own = sorted({token for token in step if token < NUM_WORDS})
        assert table[number, : len(own)].tolist() == own
        codes = code_T[start[number] : start[number + 1]].tolist()
        assert codes == [own.index(t) if t < NUM_WORDS else num_rows + t - NUM_WORDS for t in step]
    assert words.num_most == max(len({token for token in step if token < NUM_WORDS}) for step in steps)
