"""Read files into `Sentence`, `Relation`, `Mark` and `Triple` records, with one reader per format.

READERS lists the sentence formats; a new one needs a module, a line here and a heading in docs/data-format.md.
"""

from sayso.readers import crowdtruth, jsonl, nre, opennre, tagged
from sayso.readers.base import Reader, by_line

READERS: dict[str, Reader] = {
    "nre": Reader(by_line(nre.parse), nre.recognises, None, "thunlp/NRE's tab-separated lines (FB-NYT)"),
    "opennre": Reader(
        by_line(opennre.parse), opennre.recognises, opennre.write, "OpenNRE's JSON lines (text or token, h, t)"
    ),
    "jsonl": Reader(by_line(jsonl.parse), jsonl.recognises, jsonl.write, "sayso's own JSON lines (tokens, head, tail)"),
    "tagged": Reader(tagged.read, tagged.recognises, None, "blocks with <e1> and <e2> (KBP37, SemEval-2010 task 8)"),
    "crowdtruth": Reader(
        by_line(crowdtruth.parse), crowdtruth.recognises, None, "JSON lines with crowd workers' answers"
    ),
}
