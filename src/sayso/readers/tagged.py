"""Read tagged sentences in blocks, the format of KBP37 and SemEval-2010 task 8.

A block is a numbered sentence in quotes with `<e1>` and `<e2>`, a line with the relation and its direction, an optional
comment, and blank lines. The direction `(e2,e1)` makes e2 the head, so relation names carry no direction.
"""

import re
from collections.abc import Iterable, Iterator

from sayso.readers.base import BadLine, BadLineError, Line, SentenceItem, check_length, with_plain_names
from sayso.readers.mention import given_mentions, id_from_name
from sayso.records import NA_NAMES, Mention, Sentence, Span

_NUMBERED = re.compile(r"\s*\d+\t\s*\S")
_TAG = re.compile(r"(</?e[12]>)")
_DIRECTIONS = {"e1,e2)": ("e1", "e2"), "e2,e1)": ("e2", "e1")}
_COMMENT = "comment:"

LOST_NAME = "_"
"""Token for a mention without words: in KBP37 some names are lost, but not their positions and labels."""


def read(lines: Iterable[Line]) -> Iterator[SentenceItem]:
    """Yield the sentence of each block with the number of the block's first line."""
    waiting: tuple[int, str] | None = None
    is_broken = False  # the label after an unreadable line belongs to that line
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
            waiting, is_broken = None, True
        elif _NUMBERED.match(text):
            if waiting:
                yield waiting[0], BadLine("no label follows the sentence")
            waiting, is_broken = (number, text), False
        elif text.strip() and not text.strip().lower().startswith(_COMMENT):
            if not is_broken:
                yield _item(number, waiting, text)
            waiting, is_broken = None, False
    if waiting:
        yield waiting[0], BadLine("no label follows the sentence")


def recognises(first_line: str) -> bool:
    """Return whether the line is a numbered sentence with tags."""
    return bool(_NUMBERED.match(first_line)) and "<e1>" in first_line and "<e2>" in first_line


def _item(number: int, sentence: tuple[int, str] | None, label: str) -> SentenceItem:
    if sentence is None:
        return number, BadLine("neither a numbered sentence nor the label of one")
    try:
        return sentence[0], with_plain_names(parse(sentence[1].split("\t", 1)[1], label))
    except BadLineError as error:
        return sentence[0], BadLine(str(error))


def parse(text: str, label: str) -> Sentence:
    """Parse one block from its tagged text and its label."""
    tokens, spans = _untagged(text.strip())
    relation, head_tag, tail_tag = _label(label.strip())
    head, tail = given_mentions(tokens, _mention(tokens, spans[head_tag]), _mention(tokens, spans[tail_tag]))
    return Sentence(tuple(tokens), head, tail, (relation,) if relation else (), expresses=1.0 if relation else 0.0)


def _untagged(text: str) -> tuple[list[str], dict[str, Span]]:
    """Return the tokens and the spans of e1 and e2; tags may be separate tokens or attached to words."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    tokens: list[str] = []
    edges: dict[str, int] = {}
    for part in _TAG.split(text):
        if not _TAG.fullmatch(part):
            tokens += part.split()
        elif part in edges:
            raise BadLineError(f"{part} appears twice in the sentence")
        else:
            if edges.get(part.replace("/", "")) == len(tokens):
                tokens.append(LOST_NAME)
            edges[part] = len(tokens)
    check_length(tokens)
    for tag in ("<e1>", "</e1>", "<e2>", "</e2>"):
        if tag not in edges:
            raise BadLineError(f"{tag} is missing from the sentence")
    return tokens, {name: Span(edges[f"<{name}>"], edges[f"</{name}>"]) for name in ("e1", "e2")}


def _label(text: str) -> tuple[str, str, str]:
    """Return the relation (empty for NA) and the tags of head and tail."""
    name, _, direction = text.rpartition("(")
    if text in NA_NAMES or name in NA_NAMES:
        return "", "e1", "e2"
    if not name or direction not in _DIRECTIONS:
        raise BadLineError(f"label {text[:60]!r} does not have the form relation(e1,e2)")
    return name, *_DIRECTIONS[direction]


def _mention(tokens: list[str], span: Span) -> Mention:
    if span.stop <= span.start:
        raise BadLineError("the tags of a mention are in the wrong order")
    name = " ".join(tokens[span.start : span.stop])
    return Mention(id_from_name(name), name, (span,))
