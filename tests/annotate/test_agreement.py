import pytest

from sayso.annotate import agreement as disagreement
from sayso.annotate import marking as work
from sayso.annotate.agreement import report
from sayso.annotate.log import Change, undo
from sayso.annotate.people import annotator_named
from sayso.annotate.queue import QueueSettings, write_settings
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.metrics.agreement import cohen_kappa, krippendorff_alpha
from sayso.records import Mark, Triple

CAPITAL, CONTAINS = Triple("h", "capital", "t"), Triple("h", "contains", "t")


def marks(fact: Triple, **labels: str) -> list[Mark]:
    """Return annotators' marks on sentences 0, 1, …: one letter per mark, a dot for no mark."""
    names = {"r": "rationale", "i": "irrelevant", "u": "unsure"}
    return [
        Mark(fact.head_id, fact.tail_id, fact.relation, f"sentence {place}", names[letter], person)
        for person, letters in labels.items()
        for place, letter in enumerate(letters)
        if letter != "."
    ]


def test_two_people_are_measured_as_the_metrics_do() -> None:
    figures = report(marks(CAPITAL, ada="riri", ben="rrri")).overall
    assert (figures.num_facts, figures.num_units, figures.percent) == (1, 4, 0.75)
    assert figures.kappa == cohen_kappa(list("riri"), list("rrri"))
    assert figures.alpha == krippendorff_alpha([list("riri"), list("rrri")])


def test_only_what_two_have_marked_counts() -> None:
    figures = report([*marks(CAPITAL, ada="rr.", ben="r.r"), *marks(CONTAINS, ada="ri")])
    assert (figures.overall.num_facts, figures.overall.num_units) == (1, 1)
    assert [(each.relation, each.num_units) for each in figures.relations] == [("capital", 1), ("contains", 0)]


def test_agreement_is_measured_per_relation() -> None:
    figures = report([*marks(CAPITAL, ada="ri", ben="ri"), *marks(CONTAINS, ada="ri", ben="ir")])
    assert [each.percent for each in figures.relations] == [1.0, 0.0]
    assert figures.overall.percent == 0.5


def test_three_people_are_the_mean_of_their_pairs_weighed_by_what_they_share() -> None:
    figures = report(marks(CAPITAL, ada="riri", ben="riri", cleo="ir.."))
    assert [(each.first, each.second, each.num_units) for each in figures.pairs] == [
        ("ada", "ben", 4),
        ("ada", "cleo", 2),
        ("ben", "cleo", 2),
    ]
    assert figures.overall.percent == pytest.approx(4 / 8)
    assert figures.overall.kappa == pytest.approx((1 * 4 + -1 * 2 + -1 * 2) / 8)


def test_nothing_to_compare_is_not_a_number() -> None:
    assert report([]).overall.percent is None
    assert report(marks(CAPITAL, ada="rr", ben="rr")).overall.kappa is None


FACT = Triple("h", "capital", "t")


def mark_all(connection: Connection, name: str, is_submitted: bool = True, **labels: str) -> None:
    person = annotator_named(connection, name)
    work.mark(connection, person, FACT, labels, f"mark {name}")
    if is_submitted:
        work.submit(connection, person, FACT, list(labels), f"submit {name}")


def test_marks_are_hidden_until_enough_people_have_submitted(connection: Connection) -> None:
    mark_all(connection, "Ada", one="rationale")
    mark_all(connection, "Ben", is_submitted=False, one="irrelevant")
    assert disagreement.disagreements(connection) == {}
    work.submit(connection, annotator_named(connection, "Ben"), FACT, ["one"], "now")
    assert list(disagreement.disagreements(connection)) == [FACT]
    write_settings(connection, QueueSettings(annotators_per_fact=3))
    assert disagreement.disagreements(connection) == {}


def test_only_sentences_with_different_marks_are_disputed(connection: Connection) -> None:
    mark_all(connection, "Ada", one="rationale", two="rationale")
    mark_all(connection, "Ben", one="rationale", two="unsure")
    (disputed,) = disagreement.disagreements(connection)[FACT]
    assert disputed.sentence == "two"
    assert disputed.labels == (("Ada", "rationale"), ("Ben", "unsure"))


def test_what_was_settled_is_kept_and_can_be_undone(connection: Connection) -> None:
    mark_all(connection, "Ada", one="rationale")
    mark_all(connection, "Ben", one="irrelevant")
    cleo = annotator_named(connection, "Cleo")
    disagreement.settle(connection, cleo, FACT, "one", "rationale", "key 1")
    assert disagreement.settled_labels(connection) == {(FACT, "one"): ("rationale", "Cleo")}
    assert disagreement.disagreements(connection)[FACT][0].settled == "rationale"
    assert undo(connection, cleo, disagreement.SCOPE, "key 2") == [Change(FACT, "one", "mark", "")]
    assert disagreement.settled_labels(connection) == {}
    assert undo(connection, cleo, disagreement.SCOPE, "key 3") == []


def test_settling_with_an_unknown_label_is_refused(connection: Connection) -> None:
    with pytest.raises(UserError, match="not a label"):
        disagreement.settle(connection, annotator_named(connection, "Ada"), FACT, "one", "perhaps", "key")


def test_labels_of_two_people_are_counted_against_each_other() -> None:
    figures = report(marks(CAPITAL, ada="rriu.", ben="riiur"))
    (pair,) = figures.pairs
    assert pair.confusion == ((1, 1, 0), (0, 1, 0), (0, 0, 1))
    assert figures.confusion == ((1, 1, 0), (1, 1, 0), (0, 0, 1))
    assert report([]).confusion == ((0, 0, 0),) * 3


def test_all_pairs_are_counted_in_either_order() -> None:
    figures = report(marks(CAPITAL, ada="r", ben="i", cleo="i"))
    assert figures.confusion == ((0, 2, 0), (2, 1, 0), (0, 0, 0))
    assert sum(map(sum, (pair.confusion[0] for pair in figures.pairs))) == 2
