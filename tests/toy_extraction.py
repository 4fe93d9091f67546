"""A file of facts as an extraction writes it: a few that differ in every filter, and a hostile one."""

from pathlib import Path

from sayso.facts.fact import ExtractedFact
from sayso.facts.file import FACTS_FILE
from sayso.facts.quote import Quote
from sayso.io.checksum import FILES, sums_of
from sayso.io.folder import MANIFEST
from sayso.io.json_file import to_json
from sayso.records import Source, Support
from toy_facts import make_extracted
from toy_predictions import HOSTILE

HEAD, TAIL = "<i>land</i>", "o'town\"&amp;"
NAMES = {"h": HEAD, "t": TAIL}
NEW = tuple(
    make_extracted(
        head_id=f"Q{number}",
        head_name=f"north_land{number}",
        relation="capital" if number % 2 else "contains",
        tail_id=f"T{number}",
        tail_name=f"Port Town{number}",
        probability=0.9 - number / 100,
        num_sentences=2 + number,
    )
    for number in range(6)
)
KNOWN = make_extracted(head_id="Q20", relation="capital", probability=0.99, status="known")
CONTRADICTING = make_extracted(
    head_id="Q21",
    relation="capital",
    probability=0.95,
    status="contradicts",
    contradicts=("t0", "nobody"),
    support=Support("not_sentences", 0, 0.3, 0.9, 0.8),
)
HOSTILE_FACT = make_extracted(
    head_id='h<1>&"',
    head_name=HEAD,
    relation="<u>near</u>/by",
    tail_id="t'2",
    tail_name=TAIL,
    probability=0.6,
    run="<s>run</s>",
    quotes=tuple(
        Quote(*text.format(**NAMES).partition(HEAD), rank, 1.0 / rank, source=Source("<em>doc</em>", 0, 9))
        for rank, text in enumerate(HOSTILE.values(), 1)
    ),
)
FACTS = (KNOWN, CONTRADICTING, *NEW, HOSTILE_FACT)
"""In the order of the file."""
DEFAULT_ORDER = [*NEW, HOSTILE_FACT, CONTRADICTING, KNOWN]
"""New first, then the most probable."""


def write_found(folder: Path, facts: tuple[ExtractedFact, ...] = FACTS) -> Path:
    """Return the folder of an extraction with these facts."""
    folder.mkdir(parents=True)
    (folder / FACTS_FILE).write_text("".join(f"{fact.to_json()}\n" for fact in facts), encoding="utf-8")
    return folder


def write_found_manifest(folder: Path, **values: object) -> None:
    """Write the manifest of an extraction next to its facts."""
    files = {FACTS_FILE: sums_of(folder, (FACTS_FILE,))[FACTS_FILE]}
    manifest = {"made_by": "sayso extract", **values, FILES: files}
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def ids(fact: ExtractedFact) -> dict[str, str]:
    """Return the parameters that name a fact in a URL."""
    return {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id}
