"""Files to `Sentence`, `Relation`, `Mark` and `Triple`: one reader per form.

READERS is the list of forms; a new form is one file, one line here and one heading in docs/data-format.md.
"""

from sayso.readers import crowdtruth, jsonl, nre, opennre, tagged
from sayso.readers.base import Reader

READERS: dict[str, Reader] = {
    "nre": Reader(nre.read, nre.recognises, None, "tab-separated lines of thunlp/NRE (FB-NYT)"),
    "opennre": Reader(opennre.read, opennre.recognises, opennre.write, "JSON lines of OpenNRE (text or token, h, t)"),
    "jsonl": Reader(jsonl.read, jsonl.recognises, jsonl.write, "sayso's own JSON lines (tokens, head, tail)"),
    "tagged": Reader(tagged.read, tagged.recognises, None, "blocks with <e1> and <e2> (KBP37, SemEval-2010 task 8)"),
    "crowdtruth": Reader(crowdtruth.read, crowdtruth.recognises, None, "JSON lines with the answers of crowd workers"),
}
