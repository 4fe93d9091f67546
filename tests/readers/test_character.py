from hypothesis import given
from hypothesis import strategies as st

from sayso.readers.base import BadLineError
from sayso.readers.character import split_at


@given(text=st.text("ab .", min_size=1, max_size=12), data=st.data())
def test_spans_hold_the_characters_they_stand_for(text: str, data: st.DataObject) -> None:
    edges = st.integers(0, len(text))
    stretches = data.draw(st.lists(st.tuples(edges, edges), max_size=3))
    try:
        tokens, spans = split_at(text, stretches)
    except BadLineError:
        assert any(not text[start:stop].strip() for start, stop in stretches)
        return
    assert "".join(tokens) == "".join(text.split())
    for (start, stop), span in zip(stretches, spans, strict=True):
        assert "".join(tokens[span.start : span.stop]) == "".join(text[start:stop].split())
