"""sayso extracts facts from text and shows which sentences say so.

```python
import sayso

model = sayso.load("demo/cnns_att_f_ld")
bag = sayso.Bag.from_sentences(["Windhoek is the capital of Namibia."], head="Namibia", tail="Windhoek")
for fact in model.predict([bag])[0]:
    print(fact.relation, fact.probability)
model.explain(bag).show()
```

The names below are the whole public API; everything else may change without notice.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sayso.facts.explanation import Explanation
    from sayso.facts.fact import Fact
    from sayso.library import Model, load, train
    from sayso.records import Bag, Sentence
    from sayso.store.store import Store

__version__ = "0.1.0"
__all__ = ["Bag", "Explanation", "Fact", "Model", "Sentence", "Store", "__version__", "load", "train"]

# torch's idle threads spin, which takes cores away from our compiled kernels: on two busy cores, training was six
# times slower. The variable is read when torch is first loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Loaded on first use: `import sayso` must not load torch.
_HOMES = {
    "Bag": "sayso.records",
    "Explanation": "sayso.facts.explanation",
    "Fact": "sayso.facts.fact",
    "Model": "sayso.library",
    "Sentence": "sayso.records",
    "Store": "sayso.store.store",
    "load": "sayso.library",
    "train": "sayso.library",
}


class _Package(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        # Importing the package sayso.train must not replace the function sayso.train.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sayso' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
