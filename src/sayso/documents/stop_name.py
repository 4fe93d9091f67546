"""Names that name nothing in running text: single letters, numbers, and words that stand in every other sentence."""

from collections.abc import Collection
from pathlib import Path

from sayso.readers.files import lines_with_text, read_text

_COMMON_WORDS_LIST = """
a about above after again all also although always am an and another any anything are around as at away back be
because been before being below between both but by can cannot could did do does done down each either else
enough even ever every everyone everything few first for from get go had has have he her here hers him his how
however i if in into is it its just last least less like made make many may maybe me might mine more most much
must my never new next no nobody none nor not nothing now of off often old on once one only or other others our
out over own part per perhaps same say see several shall she should since so some someone something soon still
such than thanks that the their them then there these they this those though through thus to today together
tomorrow tonight too two under until up upon us very was way we well were what when where whether which while
who whom whose why will with within without would yes yesterday yet you your january february march april june
july august september october november december monday tuesday wednesday thursday friday saturday sunday spring
summer autumn fall winter morning evening night day week month year time mr mrs ms dr sir madam lord lady king
queen president minister general captain north south east west left right man woman men women boy girl people
person family father mother son daughter brother sister friend city town village country state nation world
place river lake sea mountain island street road house home school college university church company group club
team band film movie book song album show game news paper magazine party government army police court law war
peace life love death
"""
COMMON_WORDS = frozenset(_COMMON_WORDS_LIST.split())


def read_stop_names(path: Path) -> frozenset[str]:
    """Return further names to pass over, one a line, in lower case."""
    return frozenset(" ".join(line.lower().split()) for _, line in lines_with_text(read_text(path, "names")))


def stop_reason(name: str, further: Collection[str] = ()) -> str:
    """Return why the name is not to be looked for, nothing if it is.

    A name in capitals only (US, WHO) is no common word: short names are looked for as they are written.

    >>> stop_reason("May"), stop_reason("May Holt"), stop_reason("WHO"), stop_reason("X"), stop_reason("1984")
    ('common words', '', '', 'single letters', 'no letters')
    """
    folded = name.lower()
    if not any(map(str.isalpha, folded)):
        return "no letters"
    if sum(map(str.isalnum, folded)) == 1:
        return "single letters"
    if folded in further:
        return "on your list"
    return "common words" if folded in COMMON_WORDS and not name.isupper() else ""
