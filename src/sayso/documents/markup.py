"""Remove HTML from documents, keeping the original offset of every character."""

import html
import re
from array import array
from bisect import bisect_left
from typing import NamedTuple

_BLOCK_TAGS = (
    "article|blockquote|body|br|caption|center|dd|div|dl|dt|figure|footer|h[1-6]|head|header|hr|html|li|main|nav|ol|option"
    "|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr|ul"
)
_ASIDE_TAGS = "nav|noscript|template|svg|iframe|select|button"
_TAGS = f"{_BLOCK_TAGS}|{_ASIDE_TAGS}|a|abbr|b|code|em|font|i|img|input|label|link|meta|s|small|span|strong|sub|sup|u"
_BLOCK = re.compile(rf"</?(?:{_BLOCK_TAGS})\b", re.IGNORECASE)
# A quoted value may contain >; a length limit keeps the search linear where a quote is never closed.
_VALUES = r"""\s(?:[^<>"']|"[^"]{0,5000}"|'[^']{0,5000}')*+>|\s[^<>]*>|/?>"""
_MARKUP_OF = (
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<(?:!doctype|[?]xml)[^<>]*>|</?(?:{tags})(?:{values})"
    r"|&(?:#[0-9]{{1,7}}|#x[0-9a-f]{{1,6}}|[a-z]{{2,12}}[0-9]{{0,2}});"
)
_MARKUP, _MARKUP_OF_PAGE = (
    re.compile(_MARKUP_OF.format(tags=tags, values=_VALUES), re.IGNORECASE | re.DOTALL)
    for tags in (_TAGS, r"[a-z][a-z0-9:-]*")
)
_PAGE = re.compile(r"\s*(?:<\?xml[^<>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
"""How a whole HTML page begins; in a page, all tags are markup, including those that HTML does not define."""
_ASIDE = re.compile(rf"<(/?)({_ASIDE_TAGS})\b", re.IGNORECASE)
"""Elements whose contents are not part of the text."""
_PARAGRAPH_END = "\n\n"


class PlainText(NamedTuple):
    """A document's text without markup; `start_C` and `stop_C` are the original offsets, None if there was none.

    Shapes: C characters.
    """

    text: str
    start_C: "array[int] | None" = None
    stop_C: "array[int] | None" = None

    def original(self, start: int, stop: int) -> tuple[int, int]:
        """Map a non-empty span of this text to a span of the document."""
        if self.start_C is None or self.stop_C is None:
            return start, stop
        return self.start_C[start], self.stop_C[stop - 1]

    def plain(self, start: int, stop: int) -> tuple[int, int]:
        """Map a span of the document to a span of this text, which is empty if there was only markup."""
        if self.start_C is None:
            return start, stop
        return bisect_left(self.start_C, start), bisect_left(self.start_C, stop)


def without_markup(text: str) -> PlainText:
    """Remove tags, comments and scripts, and replace character references such as `&amp;`.

    A block-level tag (`<p>`, `<br>`, `<td>`) becomes an empty line, which ends a sentence. Navigation, scripts and
    similar elements are removed with their contents. Only known HTML tags are removed, unless the text is a whole
    page: `a < b` and `<unknown>` stay.

    >>> without_markup("<p>AT&amp;T<br>Oslo").text
    '\\n\\nAT&T\\n\\nOslo'
    """
    if "<" not in text and "&" not in text:
        return PlainText(text)
    pattern = _MARKUP_OF_PAGE if _PAGE.match(text) else _MARKUP
    found = _without_asides([(*match.span(), _replacement(match[0])) for match in pattern.finditer(text)], text)
    if not found:
        return PlainText(text)
    parts: list[str] = []
    starts, stops, last = array("I"), array("I"), 0  # half as much memory as "q"
    for start, stop, replacement in (*found, (len(text), len(text), "")):
        parts += text[last:start], replacement
        starts.extend((*range(last, start), *[start] * len(replacement)))
        stops.extend((*range(last + 1, start + 1), *[stop] * len(replacement)))
        last = stop
    return PlainText("".join(parts), starts, stops)


def _without_asides(found: list[tuple[int, int, str]], text: str) -> list[tuple[int, int, str]]:
    """Join the markup from the first to the last tag of each element that is not part of the text."""
    kept: list[tuple[int, int, str]] = []
    opened: dict[str, list[int]] = {}
    for start, stop, replacement in found:
        tag = _ASIDE.match(text, start)
        if tag and not tag[1]:
            opened.setdefault(tag[2].lower(), []).append(len(kept))
        elif tag and (places := opened.get(tag[2].lower())) and (first := places.pop()) < len(kept):
            start, replacement = kept[first][0], _PARAGRAPH_END
            del kept[first:]
        kept.append((start, stop, replacement))
    return kept


def _replacement(markup: str) -> str:
    if markup.startswith("&"):
        return html.unescape(markup).replace("\0", " ")
    return _PARAGRAPH_END if _BLOCK.match(markup) else ""
