from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.token import cut_at, spans_of, spelling, tokens_with_places
from sayso.records import Source, as_written
from sayso.tokens import Span, tokenise

texts = st.text(st.sampled_from("ab.,'’s()\" \n-T"), max_size=40) | st.text(max_size=20)


@given(texts)
def test_tokens_are_those_of_every_other_command_and_stand_where_they_are_said_to(text: str) -> None:
    tokens, starts = tokens_with_places(text)
    assert tokens == tokenise(text)
    for token, start in zip(tokens, starts, strict=True):
        assert text[start : start + len(token)].replace("’", "'") == token.replace("’", "'")


@given(texts, st.data())
def test_stretches_are_whole_tokens_once_tokens_are_cut_at_their_edges(text: str, data: st.DataObject) -> None:
    solid = [i for i, letter in enumerate(text) if not letter.isspace()]
    if not solid:
        return
    start = data.draw(st.sampled_from(solid))
    stop = data.draw(st.sampled_from([i for i in solid if i >= start])) + 1
    tokens, starts = cut_at(*tokens_with_places(text), (start, stop))
    (span,) = spans_of([(start, stop)], starts)
    expected = "".join(text[start:stop].split()).replace("’", "'")
    assert "".join(tokens[span.start : span.stop]).replace("’", "'") == expected


@given(texts, st.sets(st.integers(0, 40)))
def test_tokens_as_written_are_the_text_with_its_white_space_folded(text: str, edges: set[int]) -> None:
    solid = [edge for edge in edges if not text[edge : edge + 1].isspace()]
    tokens, starts = cut_at(*tokens_with_places(text), solid)
    source = Source("d", 0, len(text), *spelling(text, tokens, starts))
    assert "".join(gap + token for gap, token in as_written(tokens, source)) == " ".join(text.split())


def test_a_compound_is_cut_where_the_name_ends() -> None:
    text = "U.S.-Mexico talks"
    tokens, starts = cut_at(*tokens_with_places(text), (0, 4, 5, 11))
    assert tokens == ["U.S.", "-", "Mexico", "talks"]
    assert spans_of([(0, 4), (5, 11)], starts) == [Span(0, 1), Span(2, 3)]
