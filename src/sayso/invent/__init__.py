"""Generate an invented corpus: a world of typed entities, its facts, and news with ground truth for every sentence.

It is the built-in example, the test bed and the load generator. `relations.toml` and `words.toml` contain its language.
Modules, in pipeline order: `world`, `pairs`, `plan`, `names`, `phrase`, `sentences`, `articles`, `write`; `raw`
writes the same corpus as documents and a knowledge base.
"""

from sayso.invent.raw import RAW_FILES, RawSummary, invent_raw, raw_settings
from sayso.invent.settings import SIZES, InventSettings
from sayso.invent.write import FILES, InventSummary, invent

__all__ = [
    "FILES",
    "RAW_FILES",
    "SIZES",
    "InventSettings",
    "InventSummary",
    "RawSummary",
    "invent",
    "invent_raw",
    "raw_settings",
]
