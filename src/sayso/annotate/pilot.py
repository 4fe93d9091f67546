"""The pilot round: facts with known answers that everyone marks before the real work.

The answers come with the store (annotators' marks, or the ground truth of an invented corpus) or from
`sayso annotations import --known`, and are stored in the database under a separate owner. Marks made in the round are
practice. Marks on facts that were started as real work still count, even if the round changes later.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sayso.annotate.log import Change, HasFact, accept_all, entries, fact_number, record
from sayso.annotate.marking import MARK, SUBMITTED, work_of
from sayso.annotate.people import KNOWN, Annotator, annotators
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.metrics.agreement import cohen_kappa, percent_agreement
from sayso.records import Triple
from sayso.store.marks import MARK_LABELS, marks_of_store
from sayso.store.store import Store
from sayso.store.table import BagTable

SCOPE = "pilot"
MAX_SENTENCES = 12

Answers = Mapping[Triple, Mapping[str, str]]
"""Labels by fact and sentence text."""


@dataclass(frozen=True, kw_only=True)
class PilotResult:
    """One annotator's result in the pilot round; undefined metrics are None.

    `differences` are (fact, text, annotator's label, known label).
    """

    num_facts: int
    num_done: int
    num_sentences: int = 0
    percent: float | None = None
    kappa: float | None = None
    differences: tuple[tuple[Triple, str, str, str], ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether real work can start."""
        return self.num_done == self.num_facts


@dataclass(frozen=True, kw_only=True)
class PilotChange:
    """The effect of resizing the pilot round: counts of facts, and of annotators (`num_people`).

    `num_people` annotators have already marked facts and get the added ones first. Removed facts that were submitted as
    practice stay out of the queue; other removed facts return to it. `num_submitted` facts are finished, `num_outside`
    of them outside the new round; `num_finished` of them count in agreement and exports, the others are practice.
    """

    num_before: int
    num_wanted: int
    num_after: int
    num_added: int
    num_people: int
    num_back_in_queue: int
    num_practised: int
    num_submitted: int
    num_outside: int
    num_finished: int


def known_answers_of_store(store: Store, table: BagTable, part: str) -> dict[Triple, dict[str, str]]:
    """Return the majority labels of the marks in the store on a part's sentences."""
    bag_N = table.bag_N
    answers: dict[Triple, dict[str, str]] = {}
    for (sentence, relation), mark in marks_of_store(store, part).by_sentence.items():
        head_id, tail_id = store.pair(table, int(bag_N[sentence]))
        fact = Triple(head_id, store.relations[relation].name, tail_id)
        answers.setdefault(fact, {})[" ".join(store.tokens(table, sentence))] = MARK_LABELS.get(mark, "unsure")
    return answers


def known_answers_of_database(connection: Connection) -> dict[Triple, dict[str, str]]:
    """Return the imported known answers."""
    answers: dict[Triple, dict[str, str]] = {}
    for each in entries(connection, "entry.owner = ? AND kind = ?", KNOWN, MARK):
        answers.setdefault(each.fact, {})[each.sentence] = each.value
    return answers


def choose_pilot(answers: Answers, num: int) -> list[Triple]:
    """Choose short bags with both rationale and irrelevant sentences, spread over the relations."""
    fit = [
        fact
        for fact, marks in answers.items()
        if 2 <= len(marks) <= MAX_SENTENCES and {"rationale", "irrelevant"} <= set(marks.values())
    ]
    turns: dict[str, int] = {}
    rounds = []
    for fact in sorted(fit):
        turns[fact.relation] = turns.get(fact.relation, 0) + 1
        rounds.append((turns[fact.relation], fact))
    return [fact for _, fact in sorted(rounds)[:num]]


def facts_in_work(connection: Connection) -> set[Triple]:
    """Return the facts that someone has started to mark as real work; they cannot become practice."""
    return _facts_where(connection, f"NOT is_pilot AND {_IS_BEGUN}")


def pilot_change(connection: Connection, facts: Collection[Triple], num_wanted: int) -> PilotChange:
    """Return the effect of making these facts the pilot round."""
    before, after = set(pilot_facts(connection)), set(facts)
    is_practised = "is_pilot AND (annotator, claim.fact) IN (SELECT annotator, fact FROM practised)"
    is_unfinished = "is_pilot AND (annotator, claim.fact) NOT IN (SELECT annotator, fact FROM practised)"
    kept_out = _facts_where(connection, is_practised) - _facts_where(connection, f"{is_unfinished} AND {_IS_BEGUN}")
    owners = {row[0] for row in connection.execute("SELECT DISTINCT owner FROM entry WHERE kind = ?", (MARK,))}
    people = [person for person in annotators(connection) if person.id in owners]
    added, removed = after - before, before - after
    submitted = {each.fact for each in entries(connection, "kind = ?", SUBMITTED)}
    return PilotChange(
        num_before=len(before),
        num_wanted=num_wanted,
        num_after=len(after),
        num_added=len(added),
        num_people=sum(
            any(not work_of(connection, person.id, fact).is_submitted for fact in added) for person in people
        ),
        num_back_in_queue=len(removed - kept_out),
        num_practised=len(removed & kept_out),
        num_submitted=len(submitted),
        num_outside=len(submitted - after),
        num_finished=connection.execute("SELECT count(DISTINCT fact) FROM finished").fetchone()[0],
    )


def set_pilot(connection: Connection, actor: Annotator, facts: list[Triple], answers: Answers, key: str) -> None:
    """Make these facts the pilot round, with their answers; facts practised in earlier rounds stay out of the queue."""
    connection.execute("UPDATE pilot SET is_over = 1")
    connection.execute("DELETE FROM pilot WHERE fact NOT IN (SELECT fact FROM practised)")
    numbers = [(fact_number(connection, fact),) for fact in facts]
    connection.executemany("INSERT OR REPLACE INTO pilot (fact, is_over) VALUES (?, 0)", numbers)
    changes = [Change(fact, text, MARK, label) for fact in facts for text, label in answers[fact].items()]
    record(connection, actor, SCOPE, key, changes, owner=KNOWN)
    # Anyone who has not submitted a removed fact has not seen its answers, so their work on it becomes real work.
    connection.execute(
        "UPDATE claim SET is_pilot = 0, quota = ? WHERE is_pilot"
        " AND fact NOT IN (SELECT fact FROM pilot WHERE NOT is_over)"
        " AND (annotator, fact) NOT IN (SELECT annotator, fact FROM practised)",
        (read_settings(connection).annotators_per_fact,),
    )


_IS_BEGUN = "EXISTS (SELECT 1 FROM entry WHERE owner = annotator AND entry.fact = claim.fact AND kind = 'mark')"


def _facts_where(connection: Connection, condition: str) -> set[Triple]:
    """Return the facts of the claims that match a condition, which is built from constants only."""
    query = "SELECT DISTINCT head_id, relation, tail_id FROM claim JOIN fact ON fact.id = claim.fact WHERE"
    return {Triple(*row) for row in connection.execute(f"{query} {condition}")}


def pilot_facts(connection: Connection, with_past: bool = False) -> list[Triple]:
    """Return the facts of the pilot round, and of past rounds if `with_past`."""
    query = "SELECT head_id, relation, tail_id FROM pilot JOIN fact ON fact.id = fact WHERE is_over <= ? ORDER BY fact"
    return [Triple(*row) for row in connection.execute(query, (with_past,))]


def pilot_result(connection: Connection, annotator: Annotator, has_fact: HasFact = accept_all) -> PilotResult:
    """Compare the annotator's marks with the known answers once they have finished the round.

    Only facts that `has_fact` accepts belong to the round.
    """
    facts = list(filter(has_fact, pilot_facts(connection)))
    done = [fact for fact in facts if work_of(connection, annotator.id, fact).is_submitted]
    if not facts or len(done) < len(facts):
        return PilotResult(num_facts=len(facts), num_done=len(done))
    compared = [
        (fact, text, work_of(connection, annotator.id, fact).labels.get(text), label)
        for fact in facts
        for text, label in work_of(connection, KNOWN, fact).labels.items()
    ]
    theirs, known = [each[2] for each in compared], [each[3] for each in compared]
    return PilotResult(
        num_facts=len(facts),
        num_done=len(done),
        num_sentences=len(compared),
        percent=percent_agreement(theirs, known),
        kappa=cohen_kappa(theirs, known),
        differences=tuple((fact, text, mine, label) for fact, text, mine, label in compared if mine and mine != label),
    )
