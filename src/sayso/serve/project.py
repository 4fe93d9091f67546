"""What is set for the whole work: the queue with its pilot round, and the guideline."""

import uuid
from dataclasses import replace

from sayso.annotate.people import Annotator
from sayso.annotate.pilot import answers_of_database, answers_of_store, choose_pilot, pilot_facts, set_pilot
from sayso.annotate.queue import QueueSettings, write_settings
from sayso.errors import UserError
from sayso.serve.state import Workbench


def change_queue(bench: Workbench, who: Annotator, settings: QueueSettings) -> QueueSettings:
    """Save the settings, choose the pilot round anew if its size changes, and return what holds now."""
    unknown = [name for name in settings.relations if name not in bench.relation_numbers]
    if unknown:
        raise UserError(f"the store has no relation {unknown[0]!r}")
    with bench.database.writing() as connection:
        if settings.num_pilot != len(pilot_facts(connection)):
            known = answers_of_store(bench.store, bench.table, bench.settings.part) | answers_of_database(connection)
            facts = choose_pilot(
                {fact: marks for fact, marks in known.items() if (fact.head_id, fact.tail_id) in bench.bag_of_pair},
                settings.num_pilot,
            )
            set_pilot(connection, who, facts, known, uuid.uuid4().hex)
            settings = replace(settings, num_pilot=len(facts))
        write_settings(connection, settings)
    return settings
