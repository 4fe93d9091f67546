"""Facts to compare, export and decide on, as literals."""

from typing import Any

from sayso.facts.fact import DecidedFact, ExtractedFact
from sayso.facts.quote import DecidedQuote, Quote
from sayso.records import Source, Support

TOLD = Quote("So ", "Windhoek is Namibia", " 's capital .", 1, 2.5, "rationale", Source("nyt/7", 120, 155))
PLAIN = Quote("", "Namibia and Windhoek", "", 2, 0.5)
WEB_TOLD = TOLD._replace(mark="", source=Source("https://example.org/7", 120, 155))
QUOTING = PLAIN._replace(exact='Namibia and "Windhoek"')

_FACT: dict[str, Any] = {
    "head_id": "Q1030",
    "head_name": "Namibia",
    "tail_id": "Q3935",
    "tail_name": "Windhoek",
    "probability": 0.97,
    "run": "one",
    "variant": "CNNs+ATT",
    "model_fingerprint": "abc",
    "data_fingerprint": "def",
    "mechanism": "shapley",
}


def make_decided(**changes: Any) -> DecidedFact:
    values: dict[str, Any] = {
        "relation": "/location/country/capital",
        "decision": "accepted",
        "reason": "the first sentence",
        "annotator": "Ada",
        "decided_at": "2026-01-02T03:04:05.678+00:00",
        "is_label": False,
        "quotes": (TOLD, PLAIN),
    }
    return DecidedFact(**(_FACT | values | changes))


def make_decided_quote(**changes: Any) -> DecidedQuote:
    names = ("head_id", "head_name", "tail_id", "tail_name")
    values: dict[str, Any] = {
        **{name: _FACT[name] for name in names},
        "relation": "/location/country/capital",
        "quote": TOLD,
        "decision": "rejected",
        "reason": "negated",
        "annotator": "Ada",
        "decided_at": "2026-01-02T03:04:05.678+00:00",
    }
    return DecidedQuote(**(values | changes))


def make_extracted(**changes: Any) -> ExtractedFact:
    values: dict[str, Any] = {
        "relation": "P36",
        "num_sentences": 7,
        "support": Support("one_sentence", 1, 0.91, 0.12, 0.01),
        "quotes": (WEB_TOLD, QUOTING),
        "status": "new",
    }
    return ExtractedFact(**(_FACT | values | changes))
