"""The ordinary words of the invented corpus, which no invented name may be."""

import random
from collections.abc import Iterator

from sayso.invent import filler
from sayso.invent.coin import Coiner
from sayso.invent.names import FORMS
from sayso.invent.slots import SLOTS
from sayso.invent.wording import ANYWHERE, NEUTRAL, STATING


def new_coiner(rng: random.Random) -> Coiner:
    """Return a coiner that avoids every word of the templates."""
    return Coiner(_texts(), rng)


def _texts() -> Iterator[str]:
    for lists in (STATING, NEUTRAL, FORMS, SLOTS):
        for texts in lists.values():
            yield from texts
    for texts in (ANYWHERE, filler.LEADS, filler.TRAILS, filler.ECHOES, filler.ASIDES, filler.PLAIN):
        yield from texts
