"""Read the tab-separated lines of thunlp/NRE, the usual format of FB-NYT.

Columns: head id, tail id, head name, tail name, relation, sentence, `###END###`. In the sentence, `_` joins the words
of a name.
"""

from sayso.readers.base import BadLineError, check_length
from sayso.readers.mention import find_mentions
from sayso.records import NA_NAMES, Sentence

_END = "###END###"


def recognises(first_line: str) -> bool:
    """Return whether the line has the columns of this format."""
    return first_line.count("\t") >= 5 and not first_line.startswith("{")


def parse(text: str) -> Sentence:
    """Parse one line."""
    columns = text.split("\t")
    if len(columns) != 7 and not (len(columns) == 6 and not text.endswith(_END)):
        raise BadLineError(f"expected 6 columns and {_END}, got {len(columns)}")
    head_id, tail_id, head_name, tail_name, relation, sentence = columns[:6]
    if not head_id or not tail_id or not relation:
        raise BadLineError("an entity id or the relation is empty")
    tokens = check_length(sentence.removesuffix(_END).split())
    head, tail = find_mentions(tokens, (head_id, head_name), (tail_id, tail_name))
    return Sentence(tuple(tokens), head, tail, () if relation in NA_NAMES else (relation,))
