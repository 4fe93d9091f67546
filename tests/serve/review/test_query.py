from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st

from sayso.serve.review.query import FoundQuery


@given(
    q=st.text(max_size=20),
    status=st.sampled_from(["", "new", "known", "contradicts"]),
    decision=st.sampled_from(["open", "any", "accepted"]),
    since=st.none() | st.integers(0, 2**53),
)
def test_a_link_asks_for_the_same_again(q: str, status: str, decision: str, since: int | None) -> None:
    query = FoundQuery(q=q, status=status, decision=decision, since=since)  # type: ignore[arg-type]
    assert FoundQuery.model_validate(dict(parse_qsl(query.link(), keep_blank_values=True))) == query
    assert FoundQuery.within(query.link(q="a")) == query.model_copy(update={"q": "a"})


def test_an_odd_link_asks_for_the_usual() -> None:
    assert FoundQuery.within("sort=colour") == FoundQuery()
    assert FoundQuery.within("page=-7&status=new") == FoundQuery()
