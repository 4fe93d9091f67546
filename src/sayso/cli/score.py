"""`sayso score`: score extracted facts against withheld facts or decisions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import new_path, note, print_result, print_table, say, say_next
from sayso.cli.extract import OnlyStatus
from sayso.cli.options import AsJson, NoVerify, corpus_of, store_of_facts
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.facts.score import Score


def score(
    facts: Annotated[
        Path,
        typer.Argument(metavar="FACTS", help="Folder written by `sayso extract`, or facts.jsonl."),
    ],
    truth: Annotated[
        Path | None,
        typer.Option(metavar="TSV", help="True facts missing from the knowledge base: head, relation, tail."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="Decisions written by `sayso decisions export --format decisions`; only decided facts count."
        ),
    ] = None,
    only: Annotated[
        list[OnlyStatus] | None,
        typer.Option(help="Score only new, known or contradicting facts; may be repeated. All but known by default."),
    ] = None,
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Score extracted facts against withheld facts or decisions: precision, recall, calibration.

    Prints precision and recall with 95 % intervals, average precision, precision among the 20, 50, 100 and 300
    most probable facts, calibration, and metrics per relation. Facts that the knowledge base has are left out.

    Example: `sayso score facts --truth withheld.tsv`
    """
    from sayso.facts.score import NOT_KNOWN, read_decided, read_truth, score_extraction

    if (truth is None) == (decisions is None):
        raise UserError("use either --truth TSV or --decisions FILE to score against")
    known = read_truth(truth) if truth else read_decided(decisions or Path())
    found = score_extraction(facts, known, [each.value for each in only or ()] or NOT_KNOWN)
    against = {"truth": truth and str(truth), "decisions": decisions and str(decisions)}
    record = {"facts": str(facts), **against, **found.to_dict()}
    print_result(as_json, record, lambda: _print(found, known.path, is_list=truth is not None))
    _print_notes(found, known.path)
    store = store_of_facts(facts)
    corpus = store and corpus_of(store)
    if truth:
        command, what = as_command("sayso", "serve", "--data", store or "STORE", "--facts", facts), "review the facts"
    else:
        words = ("--train", corpus or "CORPUS", "--decisions", known.path, "--out", new_path("store"))
        command, what = as_command("sayso", "prepare", *words), "learn from the decisions"
    is_complete = bool(store if truth else corpus)
    say_next("", *[command] * is_complete, hint="" if is_complete else f"to {what}: {command}")


def _print(found: "Score", against: Path, is_list: bool) -> None:
    all_facts, noun = found.overall, "listed" if is_list else "accepted"
    of_facts = f"{all_facts.num_right:,} of {all_facts.num_facts:,} facts ({_listed(found.num_scored)})"
    of_true = f"{all_facts.num_right:,} of {all_facts.num_true:,} {noun} facts"
    rows: list[list[object]] = [
        ["precision", all_facts.precision, all_facts.precision_interval, of_facts],
        ["recall", all_facts.recall, all_facts.recall_interval, of_true],
        ["average precision", all_facts.average_precision, "", ""],
        ["mean probability", all_facts.mean_probability, "", ""],
        ["expected calibration error", all_facts.expected_calibration_error, "", ""],
    ]
    print_table(f"against {against}", ["", "value", "95 % interval", "count"], rows)
    if is_list:
        say(f"Facts missing from {against} may still be right: if that list is incomplete, precision is a lower bound.")
    else:
        say("Only decided facts are counted: the metrics hold for all facts if the decided ones are a random sample.")
    top = [
        [each.k, each.num_facts, f"{each.num_right:.4g}", each.precision, each.precision_interval]
        for each in found.precision_at
    ]
    say("")
    print_table("most probable facts", ["k", "facts", "right", "precision", "95 % interval"], top, num_text=0)
    bins = [
        [each.mean_probability, each.share_right, each.share_right_interval, each.num_facts]
        for each in found.reliability
    ]
    say("")
    print_table("calibration", ["mean probability", "share right", "95 % interval", "facts"], bins, num_text=0)
    _print_relations(found, noun)


def _print_relations(found: "Score", noun: str) -> None:
    rows = [
        [
            *(name, each.num_facts, each.num_right, each.precision, each.precision_interval),
            *(each.num_true, each.recall, each.average_precision, each.mean_probability),
        ]
        for name, each in found.per_relation.items()
    ]
    columns = ["relation", "facts", "right", "precision", "95 % interval"]
    say("")
    print_table("per relation", [*columns, noun, "recall", "AP", "mean probability"], rows)


def _listed(num_by_status: dict[str, int]) -> str:
    return ", ".join(f"{num:,} {status.replace('_', ' ')}" for status, num in num_by_status.items())


def _print_notes(found: "Score", against: Path) -> None:
    """Print what was left out, and likely mistakes."""
    if found.num_left_out:
        note(f"facts left out: {_listed(found.num_left_out)} (see --only)")
    if found.num_undecided:
        note(f"facts left out: {found.num_undecided:,} not decided in {against}")
    if "not_compared" in found.num_scored:
        note("the facts were not compared with a knowledge base (`sayso extract --kb`): known facts are counted, too")
    if not found.overall.num_right:
        note(f"no scored fact is right according to {against}: do both use the same ids and relation names?")
