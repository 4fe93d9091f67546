"""What withheld facts teach about new ones: a file of their probabilities, and how much the knowledge base counts.

The file has the withheld facts and the unlabelled pairs, with their probabilities under models trained without these
facts. A row is a fact, known or not. A pair is stored as a number (no text), which is the same in all runs.

Other facts of the knowledge base count against a new fact. Most people are citizens of one country, so if the knowledge
base already has a country for a person, another one is less likely to be right; authors, by contrast, have many books.
How much this matters depends on the relation, and is learned from facts that were withheld:

    logit(p | text, knowledge base) = logit(p | text) + u_k [the subject has another object] + v_k [the object has
    another subject],  with u_k, v_k ≤ 0

Weights above 0 would reward facts for being about well-covered entities, which says little about their truth.
Shapes: Q rows, B pairs of all folds, R relations, E entities, F folds, P pairs that count for a relation.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from sayso.errors import BadInputError
from sayso.io.atomic import atomic_folder
from sayso.io.checksum import FILES, sums_of
from sayso.io.json_file import checked_files, read_object, sealed, to_json
from sayso.model.ensemble import seed_folders
from sayso.seeding import pair_number
from sayso.store.columns import is_within, read_columns, to_numpy, write_columns
from sayso.store.table import BagTable
from sayso.train.folder import FOLDS

FACTS, REPORT = "facts.arrow", "report.json"
HELD_OUT = "held-out"
KB_PRIOR = "kb_prior"
LEAST_PROBABILITY = 0.001
"""Unlabelled facts with a lower probability are not kept: no useful threshold is that low."""
_ADVICE = "train the run again"
_SPREAD = 1.0
"""Standard deviation of the weights' prior, around 0: relations with few facts keep small weights."""
_MOST = 10.0


class KbPrior(NamedTuple):
    """The weights u_k and v_k of each relation, at most 0."""

    object_R: np.ndarray
    subject_R: np.ndarray

    @classmethod
    def mean(cls, priors: Sequence["KbPrior"]) -> "KbPrior":
        """Return the mean weights of several runs."""
        return cls(*(np.mean(weights, axis=0) for weights in zip(*priors, strict=True)))

    def to_table(self) -> dict[str, list[float]]:
        """Return the weights as JSON values, which `from_table` reads."""
        return {"another_object": self.object_R.tolist(), "another_subject": self.subject_R.tolist()}

    @classmethod
    def from_table(cls, table: dict[str, list[float]], num_relations: int) -> "KbPrior":
        """Return stored weights; raise `BadInputError` if they are damaged."""
        prior = cls(*(np.array(table.get(name, []), np.float64) for name in ("another_object", "another_subject")))
        if any(len(weight_R) != num_relations or not (weight_R <= 0).all() for weight_R in prior):
            raise BadInputError(f"invalid kb_prior: expected two weights of at most 0 for {num_relations} relations")
        return prior

    def logits(self, logit_BR: np.ndarray, taken: "Taken") -> np.ndarray:
        """Return the logits, lowered by what the knowledge base already has."""
        lowered: np.ndarray = logit_BR + self.object_R * taken.object_BR + self.subject_R * taken.subject_BR
        return lowered


class Taken(NamedTuple):
    """Whether a pair's subject already has another object, and its object another subject, for each relation."""

    object_BR: np.ndarray
    subject_BR: np.ndarray

    def take(self, rows: np.ndarray) -> "Taken":
        """Return the rows of some pairs."""
        return Taken(self.object_BR[rows], self.subject_BR[rows])


def taken_outside_fold(pair_B2: np.ndarray, fold_B: np.ndarray, label_BR: np.ndarray) -> Taken:
    """Return what is taken according to the facts of all other folds, from which the fact itself is missing.

    `pair_B2` has the head and tail entity of each pair, `fold_B` its fold, from 0.
    """
    num_entities, num_folds = int(pair_B2.max(initial=-1)) + 1, int(fold_B.max(initial=-1)) + 1
    found = []
    for entity_B in pair_B2.T:
        count_FER = np.zeros((num_folds, num_entities, label_BR.shape[1]), np.int32)
        np.add.at(count_FER, (fold_B, entity_B), label_BR)
        found.append((count_FER.sum(0)[entity_B] - count_FER[fold_B, entity_B]) > 0)
    return Taken(*found)


def fit_kb_prior(logit_BR: np.ndarray, label_BR: np.ndarray, weight_B: np.ndarray, taken: Taken) -> KbPrior:
    """Return the weights that make withheld facts most probable among those of unlabelled pairs (penalised likelihood).

    Other relations of a pair with a fact are left out, as in `held_out_facts`.
    """
    is_unlabelled_B = ~label_BR.any(1)
    weights = []
    for relation, is_positive_B in enumerate(label_BR.T):
        rows = np.flatnonzero(is_positive_B | is_unlabelled_B)
        taken_P2 = np.stack([column[rows, relation] for column in taken], axis=1).astype(np.float64)
        weights.append(_fit(logit_BR[rows, relation], is_positive_B[rows], weight_B[rows], taken_P2))
    return KbPrior(*np.array(weights, np.float64).reshape(-1, 2).T)


def _fit(logit_P: np.ndarray, is_positive_P: np.ndarray, weight_P: np.ndarray, taken_P2: np.ndarray) -> np.ndarray:
    # Rows for which nothing is taken do not depend on the weights.
    some = taken_P2.any(1)
    logit_P, is_positive_P, weight_P, taken_P2 = (each[some] for each in (logit_P, is_positive_P, weight_P, taken_P2))

    def loss(weight_2: np.ndarray) -> tuple[float, np.ndarray]:
        mapped_P = logit_P + taken_P2 @ weight_2
        value = weight_P @ np.logaddexp(0.0, np.where(is_positive_P, -mapped_P, mapped_P))
        slope_P = weight_P * (1.0 / (1.0 + np.exp(-mapped_P)) - is_positive_P)
        return float(value + 0.5 * (weight_2 @ weight_2) / _SPREAD**2), slope_P @ taken_P2 + weight_2 / _SPREAD**2

    found: np.ndarray = minimize(loss, np.zeros(2), jac=True, bounds=[(-_MOST, 0.0)] * 2).x
    return found


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
