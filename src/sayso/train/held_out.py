"""A file of withheld facts and unlabelled pairs, with their probabilities under models trained without these facts.

A row is a fact, known or not. A pair is stored as a number (no text), which is the same in all runs.
Shapes: Q rows, B pairs of all folds, R relations.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import BadInputError
from sayso.io.atomic import atomic_folder
from sayso.io.checksum import FILES, sums_of
from sayso.io.json_file import checked_files, read_object, sealed, to_json
from sayso.model.ensemble import seed_folders
from sayso.seeding import pair_number
from sayso.store.columns import is_within, read_columns, to_numpy, write_columns
from sayso.store.table import BagTable
from sayso.train.folder import FOLDS
from sayso.train.kb_prior import KbPrior

FACTS, REPORT = "facts.arrow", "report.json"
HELD_OUT = "held-out"
KB_PRIOR = "kb_prior"
LEAST_PROBABILITY = 0.001
"""Unlabelled facts with a lower probability are not kept: no useful threshold is that low."""
_ADVICE = "train the run again"


class HeldOutFacts(NamedTuple):
    """Facts of pairs that were held out, one per row.

    `probability_Q` is the probability given the text and the other facts of the knowledge base.
    `is_known_Q`: whether the knowledge base has the fact, which was withheld; the others are facts of unlabelled pairs.
    `weight_Q`: how many facts of the whole corpus the row stands for.
    """

    pair_Q: np.ndarray
    relation_Q: np.ndarray
    fold_Q: np.ndarray
    probability_Q: np.ndarray
    is_known_Q: np.ndarray
    weight_Q: np.ndarray


def held_out_facts(
    tables: Sequence[BagTable],
    ids: Sequence[str],
    probability_BR: np.ndarray,
    label_BR: np.ndarray,
    weight_B: np.ndarray,
) -> HeldOutFacts:
    """Return the known facts of the folds, and the probable facts of their unlabelled pairs.

    Other relations of a pair with a known fact are left out: in use, models are trained on such pairs.
    """
    is_unlabelled_B1 = ~label_BR.any(axis=1, keepdims=True)
    bag_Q, relation_Q = np.nonzero(label_BR | (is_unlabelled_B1 & (probability_BR >= LEAST_PROBABILITY)))
    pairs = [pair for table in tables for pair in zip(table.head_B.tolist(), table.tail_B.tolist(), strict=True)]
    numbers = {bag: pair_key(*(ids[each] for each in pairs[bag])) for bag in np.unique(bag_Q).tolist()}
    fold_B = np.repeat(np.arange(1, len(tables) + 1), [table.num_bags for table in tables])
    return HeldOutFacts(
        pair_Q=np.array([numbers[bag] for bag in bag_Q.tolist()], np.int64),
        relation_Q=relation_Q.astype(np.int32),
        fold_Q=fold_B[bag_Q].astype(np.int32),
        probability_Q=probability_BR[bag_Q, relation_Q].astype(np.float64),
        is_known_Q=label_BR[bag_Q, relation_Q],
        weight_Q=weight_B[bag_Q].astype(np.float64),
    )


def pair_key(head_id: str, tail_id: str) -> int:
    """Return the number of a pair, below 2**63."""
    return pair_number(head_id, tail_id, 0) >> 1


def write_held_out(folder: Path, facts: HeldOutFacts, report: dict[str, Any]) -> None:
    """Write the facts and a report on the folds, atomically, over those of an earlier attempt."""
    with atomic_folder(folder, overwrite=True) as work:
        columns = {name[:-2]: column for name, column in facts._asdict().items()}
        write_columns(work / FACTS, columns | {"is_known": facts.is_known_Q.astype(np.uint8)})
        text = to_json(sealed({**report, FILES: sums_of(work, [FACTS])}), indent=2)
        (work / REPORT).write_text(text + "\n", encoding="utf-8")


def held_out_report(run: Path) -> dict[str, Any]:
    """Return the report on the folds of a run; empty if it has none."""
    path = run / FOLDS / HELD_OUT / REPORT
    return read_object(path, "report on folds", _ADVICE) if path.is_file() else {}


def read_kb_prior(run: Path) -> KbPrior | None:
    """Return how much the knowledge base counts against new facts, the mean over seeds; None if a run has no folds."""
    reports = [(folder, held_out_report(folder)) for folder in seed_folders(run) or [run]]
    if not all(KB_PRIOR in report for _, report in reports):
        return None
    return KbPrior.mean([KbPrior.from_table(report[KB_PRIOR], len(report["num_facts"])) for _, report in reports])


def read_held_out(run: Path) -> HeldOutFacts | None:
    """Return the held-out facts of a run, averaged over the runs of several seeds; None if there are none."""
    found = [_read(each) for each in seed_folders(run) or [run]]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return known[0] if len(known) == 1 else _mean(known)


def _read(run: Path) -> HeldOutFacts | None:
    folder = run / FOLDS / HELD_OUT
    if not (report := held_out_report(run)):
        return None
    names = [name[:-2] for name in HeldOutFacts._fields]
    columns = read_columns(checked_files(folder / REPORT, report, _ADVICE), FACTS, *names)
    facts = HeldOutFacts(*(np.asarray(to_numpy(columns[name])) for name in names))
    is_share = ((facts.probability_Q >= 0) & (facts.probability_Q <= 1)).all() and (facts.weight_Q > 0).all()
    if not is_share or not is_within(facts.relation_Q, 0, len(report["num_facts"])):
        raise BadInputError(f"{folder / FACTS}: a value is out of range: {_ADVICE}")
    return facts._replace(is_known_Q=facts.is_known_Q != 0)


def _mean(runs: Sequence[HeldOutFacts]) -> HeldOutFacts:
    """Return the facts of all runs with their mean probability, counted as 0 in runs that lack the fact."""
    every = HeldOutFacts(*(np.concatenate(columns) for columns in zip(*runs, strict=True)))
    key_Q2 = np.stack([every.pair_Q, every.relation_Q.astype(np.int64)], axis=1)
    _, first, number_Q = np.unique(key_Q2, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(number_Q.ravel(), every.probability_Q)
    return HeldOutFacts(*(column[first] for column in every))._replace(probability_Q=total / len(runs))
