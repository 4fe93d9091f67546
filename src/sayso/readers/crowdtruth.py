"""Read sentences labelled by crowd workers: how many saw any relation, and how many the distantly labelled one."""

from sayso.readers.base import check_length
from sayso.readers.json_line import has_keys, json_object, share, string, without_na
from sayso.readers.mention import find_mentions, id_from_name
from sayso.records import Sentence

_MAJORITY = 0.5


def recognises(first_line: str) -> bool:
    """Return whether the line is a JSON object with crowd answers."""
    return has_keys(first_line, "text", "head", "tail", "distant_relation", "any_relation")


def parse(text: str) -> Sentence:
    """Parse one line; the distant relations are kept if at least half of the workers saw them."""
    record = json_object(text)
    head, tail = string(record, "head"), string(record, "tail")
    tokens = check_length(_without_csv_quotes(string(record, "text")).split())
    mentions = find_mentions(tokens, (id_from_name(head), head), (id_from_name(tail), tail))
    distant = without_na([name.strip() for name in string(record, "distant_relation").split(",")])
    is_seen = share(record, "distant_relation_seen") >= _MAJORITY
    any_relation = share(record, "any_relation")
    return Sentence(tuple(tokens), *mentions, distant if is_seen else (), expresses=any_relation)


def _without_csv_quotes(text: str) -> str:
    """Undo CSV quoting, which a few sentences still have."""
    inner = text[1:-1]
    is_quoted = len(text) > 2 and text[0] == text[-1] == '"' and '""' in inner
    if is_quoted and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return text
