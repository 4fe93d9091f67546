import torch
from hypothesis import given
from hypothesis import strategies as st

from sayso.features.batch import SentenceBatch
from sayso.features.subwords import SpecialIds
from sayso.model.subword_layout import SubwordTable, lay_out

SPECIAL = SpecialIds(begin=101, end=102, padding=0, unknown=100, head_begin=1, head_end=2, tail_begin=3, tail_end=4)
# Token 0 has the subword 10, token 1 the subwords 20 21, token 2 the subwords 30 31 32.
TABLE = SubwordTable(torch.tensor([10, 20, 21, 30, 31, 32]), torch.tensor([0, 1, 3, 6]))


def sentences_of(*rows: tuple[list[int], list[int], list[int]]) -> SentenceBatch:
    """Return sentences from tokens, distances to the head and distances to the tail."""
    tokens, head, tail = ([value for row in rows for value in row[i]] for i in range(3))
    return SentenceBatch(
        token_T=torch.tensor(tokens),
        head_distance_T=torch.tensor(head),
        tail_distance_T=torch.tensor(tail),
        piece_T=torch.zeros(len(tokens), dtype=torch.long),
        start_S1=torch.tensor([0, *(len(row[0]) for row in rows)]).cumsum(0),
    )


def test_markers_stand_around_every_occurrence() -> None:
    # The head occurs twice, the second time at the end; the tail has two tokens.
    sentences = sentences_of(([1, 0, 0, 2], [0, -1, -1, 0], [-1, 0, 0, 1]), ([0, 1], [0, 1], [-1, 0]))
    layout = lay_out(sentences, TABLE, SPECIAL, 64, has_markers=True)
    assert layout.id_U.tolist() == [
        101,
        1,
        20,
        21,
        2,
        3,
        10,
        10,
        4,
        1,
        30,
        31,
        32,
        2,
        102,
        101,
        1,
        10,
        2,
        3,
        20,
        21,
        4,
        102,
    ]
    assert layout.start_S1.tolist() == [0, 15, 24]
    assert layout.token_U.tolist()[:9] == [6, 6, 0, 0, 6, 6, 1, 2, 6]
    assert layout.head.subword_P.tolist() == [1, 9, 16, 2, 3, 10, 11, 12, 17]
    assert layout.head.sentence_P.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert layout.tail.subword_P.tolist() == [5, 19, 6, 7, 20, 21]


def test_without_markers_a_mention_is_its_subwords() -> None:
    layout = lay_out(sentences_of(([1, 0, 2], [0, 1, 2], [-2, -1, 0])), TABLE, SPECIAL, 64, has_markers=False)
    assert layout.id_U.tolist() == [101, 20, 21, 10, 30, 31, 32, 102]
    assert layout.head.subword_P.tolist() == [1, 2]
    assert layout.tail.subword_P.tolist() == [4, 5, 6]


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=30), min_size=1, max_size=4),
    st.integers(14, 40),
    st.randoms(use_true_random=False),
)
def test_a_long_sentence_is_cut_but_keeps_its_mentions_and_what_is_near(
    tokens: list[list[int]], most: int, random: object
) -> None:
    rows = []
    for row in tokens:
        head, tail = random.sample(range(len(row)), 2)  # type: ignore[attr-defined]
        rows.append((row, [i - head for i in range(len(row))], [i - tail for i in range(len(row))]))
    sentences = sentences_of(*rows)
    layout = lay_out(sentences, TABLE, SPECIAL, most, has_markers=True)
    assert int(layout.length_S.max()) <= most
    assert set(layout.head.sentence_P.tolist()) == set(layout.tail.sentence_P.tolist()) == set(range(len(rows)))
    whole = lay_out(sentences, TABLE, SPECIAL, 10_000, has_markers=True)
    for number, (row, head, tail) in enumerate(rows):
        ids = layout.id_U[layout.start_S1[number] : layout.start_S1[number + 1]].tolist()
        if whole.length_S[number] <= most:
            assert ids == whole.id_U[whole.start_S1[number] : whole.start_S1[number + 1]].tolist()
            continue
        first = int(sentences.start_S1[number])
        kept = {int(t) - first for t in layout.token_U[layout.start_S1[number] : layout.start_S1[number + 1]]}
        near = [min(abs(head[i]), abs(tail[i])) for i in range(len(row))]
        farthest = max(near[i] for i in range(len(row)) if i in kept)
        assert all(near[i] >= farthest for i in range(len(row)) if i not in kept)
