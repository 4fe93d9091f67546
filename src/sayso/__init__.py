"""sayso extracts facts from text and shows which sentences say so.

import sayso
model = sayso.load("runs/x")
bag = sayso.Bag.from_sentences(["...", "..."], head="Namibia", tail="Windhoek")
for prediction in model.predict([bag])[0]:
    print(prediction.relation, prediction.probability)
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sayso.library import Model, load
    from sayso.records import Bag, Mention, Prediction, Sentence

__version__ = "0.1.0"
__all__ = ["Bag", "Mention", "Model", "Prediction", "Sentence", "__version__", "load"]

# torch's threads wait for work by spinning, which takes the cores from compiled kernels between its own operations: on
# two busy cores training was six times slower. They read this when torch is first loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Loaded when first asked for: `import sayso` must not load torch.
_HOMES = dict.fromkeys(("Bag", "Mention", "Prediction", "Sentence"), "sayso.records")
_HOMES |= dict.fromkeys(("Model", "load"), "sayso.library")


def __getattr__(name: str) -> Any:
    """Return a public name from the module where it lives."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sayso' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
