"""Sentences, marks and broken lines drawn at random, for property tests."""

from hypothesis import settings
from hypothesis import strategies as st

from sayso.records import NA_NAMES, Mark, Mention, Sentence, Source, Span

# How long one example takes says more about what else the machine is doing than about the reader.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(lambda w: w.split() == [w])
_plain = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))  # no control characters
names = st.text(_plain, max_size=12)
ids = st.text(_plain, min_size=1, max_size=12).filter(str.strip)
relations = ids.filter(lambda name: name not in NA_NAMES)


def _spans(roles: list[str], role: str) -> tuple[Span, ...]:
    """Return the runs of the role."""
    edges = [
        i for i in range(len(roles) + 1) if (i < len(roles) and roles[i] == role) != (i > 0 and roles[i - 1] == role)
    ]
    return tuple(Span(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True))


@st.composite
def sources(draw: st.DrawFn, num_tokens: int) -> Source:
    """The source of a sentence with this many tokens, some of them glued or curly."""
    glued, curly = (draw(st.sets(st.integers(1, num_tokens - 1)).map(sorted)) for _ in range(2))
    return Source(draw(ids), draw(st.integers(0, 50)), draw(st.integers(50, 2**40)), tuple(glued), tuple(curly))


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Any sentence: several occurrences, several relations, with and without document."""
    roles = draw(st.lists(st.sampled_from("-ht"), min_size=2, max_size=12).filter(lambda r: "h" in r and "t" in r))
    tokens = draw(st.lists(words, min_size=len(roles), max_size=len(roles)))
    return Sentence(
        tuple(tokens),
        Mention(draw(ids), draw(names), _spans(roles, "h")),
        Mention(draw(ids), draw(names), _spans(roles, "t")),
        tuple(draw(st.lists(relations, max_size=3))),
        draw(st.none() | sources(len(tokens))),
        draw(st.none() | st.floats(0, 1)),
    )


@st.composite
def plain_sentences(draw: st.DrawFn) -> Sentence:
    """A sentence that every format can represent: no word twice, each entity named once, at most one relation."""
    tokens = draw(st.lists(words, min_size=2, max_size=8, unique=True))
    first, second = sorted(draw(st.lists(st.integers(0, len(tokens) - 1), min_size=2, max_size=2, unique=True)))
    spans = [
        Span(first, draw(st.integers(first + 1, second))),
        Span(second, draw(st.integers(second + 1, len(tokens)))),
    ]
    head_span, tail_span = draw(st.permutations(spans))
    head, tail = Mention(draw(ids), draw(names), (head_span,)), Mention(draw(ids), draw(names), (tail_span,))
    return Sentence(tuple(tokens), head, tail, tuple(draw(st.lists(relations, max_size=1))))


labels = st.sampled_from(["rationale", "irrelevant", "unsure"])
sentence_texts = st.lists(words, min_size=1, max_size=5).map(" ".join)
marks = st.builds(Mark, ids, ids, relations, sentence_texts, labels, names)

_PLACE = ("start", "stop", "glued", "curly")
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["ana", "ana rome"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "pos", "spans", *_PLACE]), inner)
    ),
    max_leaves=6,
)
_KEYS = """
text token tokens h t head tail relation relations document expresses distant_relation any_relation
distant_relation_seen sentence label by name definition example functional query evidences docids docid
"""
_keys = st.sampled_from(sorted(set(_KEYS.split())))
json_records = st.dictionaries(_keys, _json, max_size=8)
"""Objects with the keys of the forms and anything at all as values."""

_pieces = [
    "\t",
    " ",
    "ana",
    "rome",
    "NA",
    "###END###",
    "<e1>",
    "</e1>",
    "<e2>",
    "</e2>",
    '"',
    "(e1,e2)",
    "Comment:",
    "7",
]
fragments = st.lists(st.sampled_from(_pieces) | words, max_size=16).map("".join)
"""Lines made of the pieces that the forms without JSON are made of."""
