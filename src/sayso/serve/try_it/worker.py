"""The process that runs a model: reads questions and writes answers, one JSON object per line.

`python -m sayso.serve.try_it.worker RUN IDLE_SECONDS`. Its first line reports that the model is loaded. It ends when no
question arrives for that long, and immediately when its parent process is gone.
"""

import json
import logging
import os
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sayso.errors import UserError
from sayso.serve.try_it.question import Question, bag_of

if TYPE_CHECKING:
    from sayso.library import Model

MAX_EXPLAINED = 3
"""The number of relations to explain if none is given."""
NUM_LISTED = 12
"""The number of relations to list with their probabilities."""


class _Warnings(logging.Handler):
    """Collects the library's warnings for the answer."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def answer(model: "Model", question: Question) -> dict[str, Any]:
    """Return the most probable relations, and explanations of the top ones."""
    from sayso.explain.bag import explain_bag, own_bag

    warnings = _Warnings()
    logging.getLogger("sayso").addHandler(warnings)
    try:
        bag = bag_of(question)
        (probability_R,) = model.predict_proba([bag], question.types)
        listed = sorted(zip(model.relations, probability_R.tolist(), strict=True), key=lambda each: -each[1])
        found = [name for name, probability in listed if probability >= question.threshold]
        wanted = [question.relation] if question.relation else (found or [listed[0][0]])[:MAX_EXPLAINED]
        to_explain = own_bag(model.parts, bag, question.types)
        explained = explain_bag(model.parts, to_explain, wanted, None, question.threshold)
    finally:
        logging.getLogger("sayso").removeHandler(warnings)
    return {
        "variant": model.variant,
        "probabilities": [{"relation": name, "probability": each} for name, each in listed[:NUM_LISTED]],
        "explanations": [each.to_dict() for each in explained],
        "warnings": list(dict.fromkeys(warnings.texts)),
    }


def main() -> None:
    """Load the model and answer questions."""
    folder, idle_seconds = Path(sys.argv[1]), float(sys.argv[2])
    # The pipe is only for answers: anything that libraries print goes to stderr.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        pipe.write(json.dumps(value) + "\n")
        pipe.flush()

    from sayso.library import load

    try:
        model = load(folder)
    except UserError as error:
        say({"error": str(error)})
        return
    say({"ready": model.variant})
    while select.select([sys.stdin], [], [], idle_seconds)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        try:
            say({"answer": answer(model, Question.model_validate_json(line))})
        except UserError as error:
            say({"error": str(error)})


if __name__ == "__main__":
    main()
