"""Sentences in files, to extract from: many pairs, several sentences each, spread over the documents."""

from pathlib import Path

from sayso.extract.run import extract
from sayso.extract.settings import ExtractInputs, ExtractSettings
from sayso.facts.fact import ExtractedFact
from sayso.readers import jsonl
from sayso.records import Sentence, Source

TEXTS = (
    "{tail} is the capital of {head} .",
    "in {head} , {tail} is where the king lives .",
    "{head} and {tail} talk .",
)
EVERYTHING = ExtractSettings(threshold=0.0, max_evidence=3, num_shards=4)


def sentences(documents: range, num_pairs: int = 6) -> list[Sentence]:
    """Return the sentences of documents with these numbers, one per pair, different from document to document."""
    found = []
    for document in documents:
        for pair in range(num_pairs):
            text = TEXTS[(document + pair) % len(TEXTS)].format(head=f"north_land{pair}", tail=f"port_town{pair}")
            sentence = Sentence.from_text(text, f"north_land{pair}", f"port_town{pair}", f"l{pair}", f"t{pair}")
            found.append(sentence._replace(source=Source(f"doc {document}", 10 * pair, 10 * pair + 9)))
    return found


def write(path: Path, found: list[Sentence]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{jsonl.write(sentence)}\n" for sentence in found))
    return path


def facts_of(run: Path, corpus: Path, out: Path, settings: ExtractSettings = EVERYTHING) -> list[ExtractedFact]:
    """Return the facts of a corpus, extracted in one run."""
    return list(extract(ExtractInputs(run=run, corpus=corpus), settings, out))


def differing(found: list[ExtractedFact], expected: list[ExtractedFact], tolerance: float = 1e-6) -> list[object]:
    """Return how two lists of facts differ, in any order: facts, quotes, or probabilities beyond the tolerance."""
    first, second = ({(f.head_id, f.relation, f.tail_id): f for f in facts} for facts in (found, expected))
    if first.keys() != second.keys():
        return list(first.keys() ^ second.keys())
    pairs = [(first[key], second[key]) for key in first]
    return [
        (one, other)
        for one, other in pairs
        if abs(one.probability - other.probability) > tolerance
        or {(q.sentence, q.source) for q in one.quotes} != {(q.sentence, q.source) for q in other.quotes}
        or one.num_sentences != other.num_sentences
    ]
