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
_TAGS = f"{_BLOCK_TAGS}|a|abbr|b|code|em|font|i|img|input|label|link|meta|s|select|small|span|strong|sub|sup|u"
_BLOCK = re.compile(rf"</?(?:{_BLOCK_TAGS})\b", re.IGNORECASE)
_MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<!doctype[^<>]*>|</?(?:{_TAGS})(?:\s[^<>]*)?/?>"
    r"|&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,12}[0-9]{0,2});",
    re.IGNORECASE | re.DOTALL,
)
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

    A block-level tag (`<p>`, `<br>`, `<td>`) becomes an empty line, which ends a sentence. Only known HTML tags are
    removed: `a < b` and `<unknown>` stay.

    >>> without_markup("<p>AT&amp;T<br>Oslo").text
    '\\n\\nAT&T\\n\\nOslo'
    """
    if "<" not in text and "&" not in text:
        return PlainText(text)
    found = [(*match.span(), _replacement(match[0])) for match in _MARKUP.finditer(text)]
    if not found:
        return PlainText(text)
    parts: list[str] = []
    starts, stops, last = array("q"), array("q"), 0
    for start, stop, replacement in (*found, (len(text), len(text), "")):
        parts += text[last:start], replacement
        starts.extend((*range(last, start), *[start] * len(replacement)))
        stops.extend((*range(last + 1, start + 1), *[stop] * len(replacement)))
        last = stop
    return PlainText("".join(parts), starts, stops)


def _replacement(markup: str) -> str:
    if markup.startswith("&"):
        return html.unescape(markup).replace("\0", " ")
    return _PARAGRAPH_END if _BLOCK.match(markup) else ""
