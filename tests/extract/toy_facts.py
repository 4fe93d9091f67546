"""A found fact to compare and to write down, all of it in sight."""

from typing import Any

from sayso.facts.decided import Quote
from sayso.facts.extracted import FoundFact
from sayso.records import Source, Support

TOLD = Quote("So ", "Windhoek is Namibia", " 's capital .", 1, 2.5, source=Source("https://example.org/7", 120, 155))
PLAIN = Quote("", 'Namibia and "Windhoek"', "", 2, 0.5)


def make_found(**changes: Any) -> FoundFact:
    values: dict[str, Any] = {
        "head_id": "Q1030",
        "head_name": "Namibia",
        "relation": "P36",
        "tail_id": "Q3935",
        "tail_name": "Windhoek",
        "probability": 0.97,
        "num_sentences": 7,
        "support": Support("one_sentence", 1, 0.91, 0.12, 0.01),
        "run": "one",
        "variant": "CNNs+ATT",
        "model_fingerprint": "abc",
        "data_fingerprint": "def",
        "mechanism": "shapley",
        "quotes": (TOLD, PLAIN),
        "status": "new",
    }
    return FoundFact(**(values | changes))
