"""The model card: what the model is, how it was trained, how good it was, how to use it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sayso import __version__

_USE = """import sayso
model = sayso.load("FOLDER")
bag = sayso.Bag.from_sentences(["... names both ...", "... names both ..."], head="...", tail="...")
for prediction in model.predict([bag])[0]:
    print(prediction.relation, prediction.probability)"""

_LIMITS = """\
- Trained by distant supervision: the labels of a bag are those the knowledge base holds for its pair, whether or not
  a sentence says so.
- Knows the relations below and no others; each has its own probability, which is not calibrated.
- Figures are those of the validation part of its own data. On other text, other names or another language they will be
  lower: measure before you rely on it.
- A fact that it finds is a suggestion for a person to check, not a statement about anyone."""


def model_card(variant: str, relations: Sequence[str], training: Mapping[str, Any]) -> str:
    """Return the card in Markdown, with the metadata that model hubs read."""
    validation = training.get("validation", {})
    rows = {
        "variant": variant,
        "data (fingerprint of the store)": training.get("data_fingerprint"),
        "seed": training.get("seed"),
        "epochs (best)": f"{training.get('epochs')} ({training.get('best_epoch')})" if "epochs" in training else None,
        "validation AUC@0.4 x100": _percent(validation.get("area_up_to_recall_0.4")),
        "validation average precision x100": _percent(validation.get("average_precision")),
        "relations": len(relations),
        "sayso": __version__,
    }
    table = [f"| {name} | {'unknown' if value is None else value} |" for name, value in rows.items()]
    parts = ["---", "library_name: sayso", "tags:", "- relation-extraction", "- distant-supervision", "---"]
    parts += [f"# {variant}", "", "Predicts relations between two entities from the sentences that name both."]
    parts += ["", "| | |", "|---|---|", *table, ""]
    parts += ["AUC@0.4 is the area under the precision-recall curve up to recall 0.4, not divided by 0.4.", ""]
    parts += ["## Use", "", "```python", _USE, "```", "", "## Limits", "", _LIMITS, ""]
    parts += ["## Relations", "", *(f"- `{name}`" for name in relations), ""]
    return "\n".join(parts)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f}"
