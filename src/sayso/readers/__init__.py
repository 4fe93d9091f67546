"""Read files into `Sentence`, `Relation`, `Mark` and `Triple` records, with one reader per format.

READERS lists the sentence formats; a new one takes a module, a line here and a heading in docs/data-format.md.
"""

from sayso.readers import crowdtruth, jsonl, nre, opennre, tagged
from sayso.readers.base import Reader

READERS: dict[str, Reader] = {
    "nre": Reader(nre.read, nre.recognises, None, "thunlp/NRE's tab-separated lines (FB-NYT)"),
    "opennre": Reader(opennre.read, opennre.recognises, opennre.write, "OpenNRE's JSON lines (text or token, h, t)"),
    "jsonl": Reader(jsonl.read, jsonl.recognises, jsonl.write, "sayso's own JSON lines (tokens, head, tail)"),
    "tagged": Reader(tagged.read, tagged.recognises, None, "blocks with <e1> and <e2> (KBP37, SemEval-2010 task 8)"),
    "crowdtruth": Reader(crowdtruth.read, crowdtruth.recognises, None, "JSON lines with crowd workers' answers"),
}
