"""A decided fact to write down, all of it in sight."""

from typing import Any

from sayso.facts.decided import DecidedFact, Quote
from sayso.records import Source

TOLD = Quote("So ", "Windhoek is Namibia", " 's capital .", 1, 2.5, "rationale", Source("nyt/7", 120, 155))
PLAIN = Quote("", "Namibia and Windhoek", "", 2, 0.5)


def make_decided(**changes: Any) -> DecidedFact:
    values: dict[str, Any] = {
        "head_id": "Q1030",
        "head_name": "Namibia",
        "relation": "/location/country/capital",
        "tail_id": "Q3935",
        "tail_name": "Windhoek",
        "decision": "accepted",
        "reason": "the first sentence",
        "annotator": "Ada",
        "decided_at": "2026-01-02T03:04:05.678+00:00",
        "probability": 0.97,
        "is_label": False,
        "run": "one",
        "variant": "CNNs+ATT",
        "model_fingerprint": "abc",
        "data_fingerprint": "def",
        "mechanism": "shapley",
        "quotes": (TOLD, PLAIN),
    }
    return DecidedFact(**(values | changes))
