"""What somebody must not see yet, because they are still to say what they think themselves."""

from sayso.annotate.assignment import open_facts
from sayso.annotate.log import HasFact, has_any
from sayso.annotate.people import Annotator
from sayso.annotate.pilot import pilot_facts, pilot_result
from sayso.annotate.store import Connection
from sayso.records import Triple


def withheld_facts(connection: Connection, annotator: Annotator, has_fact: HasFact = has_any) -> set[Triple]:
    """Return the facts that the person has been given and not submitted, and the pilot round until it is done."""
    is_done = pilot_result(connection, annotator, has_fact).is_done
    return {*open_facts(connection, annotator), *([] if is_done else pilot_facts(connection))}
