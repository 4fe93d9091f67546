"""The model card: what a model is, how to use it, and its limits."""

from collections.abc import Mapping, Sequence
from typing import Any

from sayso import __version__

_USE = """import sayso
model = sayso.load("FOLDER")
bag = sayso.Bag.from_sentences(["... names both ...", "... names both ..."], head="...", tail="...")
for prediction in model.predict([bag])[0]:
    print(prediction.relation, prediction.probability)"""

_LIMITS = """\
- Trained by distant supervision: a bag's labels are the relations of its pair in the knowledge base, whether or not a
  sentence says so.
- Knows only the relations below. Each has its own probability, {calibrated}.
- The metrics are from the validation part of its own data. Expect lower values on other text, names or languages:
  measure before you rely on it.
- A predicted fact is a suggestion for a person to check, not a statement about anyone."""


_CALIBRATED = {
    True: "calibrated so that it is the fraction of such pairs whose\n  fact is in the knowledge base",
    False: "which is not calibrated",
}


def model_card(variant: str, relations: Sequence[str], training: Mapping[str, Any], is_calibrated: bool = False) -> str:
    """Return the model card in Markdown, with the metadata that model hubs read."""
    validation = training.get("validation", {})
    rows = {
        "variant": variant,
        "data (store fingerprint)": training.get("data_fingerprint"),
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
    parts += ["## Use", "", "```python", _USE, "```", "", "## Limits", ""]
    parts += [_LIMITS.format(calibrated=_CALIBRATED[is_calibrated]), ""]
    parts += ["## Relations", "", *(f"- `{name}`" for name in relations), ""]
    return "\n".join(parts)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f}"
