from hypothesis import given
from hypothesis import strategies as st

from sayso.store.collect import Collected, Collector
from sayso.store.spill import FiledSentences
from sayso.store.vocabulary import Numbering
from toy import make_sentence


def described(collected: Collected, lines: list[int]) -> dict[int, tuple]:
    """Return by line: pair, text, tokens, spans and window."""
    rows = (collected.tokens, collected.head_spans, collected.tail_spans)
    columns = (collected.head_N, collected.tail_N, collected.text_N, collected.window_N2)
    return {
        line: (*(column[i].tolist() for column in columns), *(each.row(i).tolist() for each in rows))
        for i, line in enumerate(lines)
    }


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 3)), max_size=30), st.data())
def test_filed_sentences_come_back_as_they_were_each_pair_whole(lines: list[tuple[str, str, int]], data) -> None:
    words, ids, names = Numbering(), Numbering(), dict[int, str]()
    whole, filed = Collector(words, ids, names, 10), FiledSentences()
    cuts = data.draw(st.sets(st.integers(0, max(len(lines) - 1, 0))))
    part = Collector(words, ids, names, 10)
    for number, (head, tail, num_words) in enumerate(lines):
        sentence = make_sentence(f"{head} {'of ' * num_words}{tail} {head}", head, tail)
        whole.add(*sentence[:3])
        part.add(*sentence[:3])
        if number in cuts:
            filed.put(part.columns())
            part = Collector(words, ids, names, 10)
    filed.put(part.columns())
    portions = list(filed.portions(num_tokens=20))
    found = [described(collected, line_N.tolist()) for collected, line_N in portions]
    expected = described(whole.columns(), list(range(len(lines))))
    assert {line: row for portion in found for line, row in portion.items()} == expected
    pairs = [{row[:2] for row in portion.values()} for portion in found]
    assert sum(map(len, pairs)) == len(set().union(*pairs))
    for _, line_N in portions:
        of_pair = [[line for line in line_N.tolist() if expected[line][:2] == expected[first][:2]] for first in line_N]
        assert all(lines_of == sorted(lines_of) for lines_of in of_pair)
