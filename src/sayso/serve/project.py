"""What is set for the whole work: the queue with its pilot round."""

import uuid
from dataclasses import dataclass, replace

from sayso.annotate.people import Annotator
from sayso.annotate.pilot import (
    PilotChange,
    answers_of_database,
    answers_of_store,
    choose_pilot,
    facts_in_work,
    pilot_change,
    pilot_facts,
    set_pilot,
)
from sayso.annotate.queue import QueueSettings, write_settings
from sayso.errors import UserError
from sayso.serve.state import Workbench


@dataclass(frozen=True, kw_only=True)
class QueueChange:
    """The settings that hold after a change, and what it does to the pilot round; None if the round stays."""

    settings: QueueSettings
    pilot: PilotChange | None


def change_queue(bench: Workbench, who: Annotator, wanted: QueueSettings, is_trial: bool = False) -> QueueChange:
    """Save the settings, choose the pilot round again if its size changes, and return what changes.

    A trial saves nothing. There may be fewer facts for the pilot round than wanted.
    """
    unknown = [name for name in wanted.relations if name not in bench.relation_numbers]
    if unknown:
        raise UserError(f"the store has no relation {unknown[0]!r}")
    with bench.database.writing() as connection:
        if wanted.num_pilot == len(pilot_facts(connection)):
            if not is_trial:
                write_settings(connection, wanted)
            return QueueChange(settings=wanted, pilot=None)
        known = answers_of_store(bench.store, bench.table, bench.settings.part) | answers_of_database(connection)
        in_work = facts_in_work(connection)
        free = {fact: marks for fact, marks in known.items() if bench.has_fact(fact) and fact not in in_work}
        facts = choose_pilot(free, wanted.num_pilot)
        change = pilot_change(connection, facts, wanted.num_pilot)
        settings = replace(wanted, num_pilot=len(facts))
        if not is_trial:
            write_settings(connection, settings)
            set_pilot(connection, who, facts, known, uuid.uuid4().hex)
    return QueueChange(settings=settings, pilot=change)
