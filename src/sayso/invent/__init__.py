"""An invented corpus: a typed world, its facts, and news about it whose every sentence has a known truth.

It is the built-in default, the test bed and the load generator. Read `relations` and one `wording_*` file first, then
`world`, `plan`, `sample` and `write`, which is the order of the work.
"""

from sayso.invent.raw import RAW_FILES, RawSummary, invent_raw, raw_settings
from sayso.invent.settings import SIZES, InventSettings
from sayso.invent.write import FILES, Summary, invent

__all__ = [
    "FILES",
    "RAW_FILES",
    "SIZES",
    "InventSettings",
    "RawSummary",
    "Summary",
    "invent",
    "invent_raw",
    "raw_settings",
]
