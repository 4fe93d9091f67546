"""One run evaluated on one part: its logits, explained facts and marks, and the columns of the stored predictions.

Shapes: B bags, R relations, F facts, E sentences of all facts, grouped by fact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa

from sayso import __version__
from sayso.config import SHARE, Range, check_ranges
from sayso.explain import mechanisms_named, ranked_by
from sayso.explain.facts import ExplainedFacts, explain_part, facts_of_interest
from sayso.explain.faithfulness import sigmoid
from sayso.explain.trained_run import TrainedRun
from sayso.explain.words import WordScores, top_word_scores
from sayso.metrics.calibration import fit_temperature
from sayso.metrics.rationale import NEITHER, MarkedFacts
from sayso.model.calibration import is_calibrated, uncalibrated
from sayso.model.predict import predict_logits
from sayso.records import OnProgress, no_progress
from sayso.store.columns import Column
from sayso.store.marks import SentenceMarks
from sayso.store.predictions import IN_RUN, PredictionColumns, write_predictions


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings of an evaluation.

    Attributes:
        threshold: Facts with at least this probability count as predicted.
        methods: The mechanisms to use; empty for all.
        num_top: How many top-ranked sentences to keep or remove when measuring faithfulness.
        num_resamples: Number of bootstrap resamples of the bags, for intervals.
        temperature: Whether to fit a temperature on validation; it affects the reliability metrics only.
        quantize: `int8` evaluates the model with 8-bit matrix products in its pretrained encoder.
    """

    threshold: Annotated[float, SHARE] = 0.5
    methods: Sequence[str] = ()
    num_top: Annotated[int, Range(1, 1_000_000)] = 1
    num_resamples: Annotated[int, Range(0, 1_000_000)] = 1_000
    temperature: bool = False
    quantize: Literal["none", "int8"] = "none"

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluated run, from which metrics, stored predictions and the report page are made."""

    subject: TrainedRun
    settings: EvaluationSettings
    logit_BR: np.ndarray
    explained: ExplainedFacts
    marks: SentenceMarks
    words: WordScores
    temperature: float | None
    uncalibrated_BR: np.ndarray | None = None
    """The logits before calibration; None if the model has none."""
    exact_BR: np.ndarray | None = None
    """The logits without quantization; None if there is none."""

    @property
    def mechanisms(self) -> list[str]:
        """The names of the mechanisms."""
        return list(self.explained.scores)

    @property
    def ranked_by(self) -> str:
        """The mechanism that ranks the sentences."""
        return ranked_by(self.mechanisms)

    @cached_property
    def mark_E(self) -> np.ndarray:
        """The mark on each sentence of each fact."""
        return self.marks.look_up(self.explained.sentences.value, self.explained.relation_E)

    @cached_property
    def is_label_F(self) -> np.ndarray:
        """Whether the knowledge base has each fact."""
        found: np.ndarray = self.subject.label_BR[self.explained.bag_F, self.explained.relation_F]
        return found

    @cached_property
    def is_marked_F(self) -> np.ndarray:
        """Whether a sentence of each fact has a mark."""
        marked_E = self.fact_E[self.mark_E != NEITHER]
        return np.bincount(marked_E, minlength=len(self.explained.sentences)) > 0

    @cached_property
    def weight_B(self) -> np.ndarray:
        """How many pairs of the whole corpus each bag stands for: more than one if NA pairs were sampled."""
        share = self.subject.store.na_share(self.subject.part_name)
        return np.where(self.subject.table.is_positive_B, 1.0, 1.0 / share)

    @property
    def fact_E(self) -> np.ndarray:
        """The fact of each sentence."""
        return np.repeat(np.arange(len(self.explained.sentences)), self.explained.sentences.length)

    def marked_facts(self, mechanism: str) -> MarkedFacts:
        """Return the labelled facts that have marks, scored by a mechanism; all runs have the same facts."""
        sentences = self.explained.sentences
        facts = np.flatnonzero(self.is_marked_F & self.is_label_F)
        is_in_E = np.isin(self.fact_E, facts)
        return MarkedFacts(
            score_N=self.explained.scores[mechanism][is_in_E],
            mark_N=self.mark_E[is_in_E],
            start_F1=np.append(0, np.cumsum(sentences.length[facts])),
            bag_F=self.explained.bag_F[facts],
            probability_F=self.explained.probability_F[facts],
        )


def evaluate_run(
    subject: TrainedRun, marks: SentenceMarks, settings: EvaluationSettings, on_progress: OnProgress = no_progress
) -> Evaluation:
    """Predict and explain the facts in the run's part."""
    mechanisms = mechanisms_named(settings.methods)
    on_progress(f"{subject.name}: predicting", 0, 0)
    extractor, exact_BR = subject.model.extractor, None
    if settings.quantize == "int8":
        exact_BR = predict_logits(extractor, subject.part)
        extractor.quantize()
    logit_BR = predict_logits(extractor, subject.part)
    facts_F2 = facts_of_interest(sigmoid(logit_BR), subject, marks, settings.threshold)
    explained = explain_part(subject, facts_F2, mechanisms, settings.threshold, settings.num_top, on_progress)
    temperature = None
    if settings.temperature:
        other = replace(subject, part_name="validation")
        temperature = fit_temperature(predict_logits(other.model.extractor, other.part), other.label_BR)
    return Evaluation(
        subject=subject,
        settings=settings,
        logit_BR=logit_BR,
        explained=explained,
        marks=marks,
        words=top_word_scores(extractor, subject.part, explained),
        temperature=temperature,
        uncalibrated_BR=_uncalibrated(subject),
        exact_BR=exact_BR,
    )


def evaluate_and_keep(
    subject: TrainedRun, marks: SentenceMarks, settings: EvaluationSettings, on_progress: OnProgress = no_progress
) -> Evaluation:
    """Evaluate a run like `evaluate_run`, and write its predictions to its folder, for the workbench."""
    evaluation = evaluate_run(subject, marks, settings, on_progress)
    write_predictions(subject.folder / IN_RUN, prediction_columns(evaluation))
    return evaluation


def _uncalibrated(subject: TrainedRun) -> np.ndarray | None:
    extractor = subject.model.extractor
    if not is_calibrated(extractor):
        return None
    with uncalibrated(extractor):
        return predict_logits(extractor, subject.part)


def prediction_columns(run: Evaluation) -> PredictionColumns:
    """Return the columns of the stored predictions, as docs/predictions-store.md describes them."""
    subject = run.subject
    return PredictionColumns(
        facts=_facts(run),
        evidence=_evidence(run),
        words=_words(run),
        manifest={
            "sayso": __version__,
            "run": subject.name,
            "variant": subject.model.variant,
            "model_fingerprint": subject.fingerprint,
            "data_fingerprint": subject.store.fingerprint,
            "part": subject.part_name,
            "threshold": run.settings.threshold,
            "num_top": run.settings.num_top,
            "mechanisms": run.mechanisms,
            "ranked_by": run.ranked_by,
            "temperature": run.temperature,
            "num_facts": len(run.explained.bag_F),
            "num_evidence": len(run.explained.rank_E),
        },
    )


def _facts(run: Evaluation) -> dict[str, Column]:
    explained, subject = run.explained, run.subject
    table, relations = subject.part.table, subject.model.relations
    sufficient = explained.sufficient
    return {
        "bag": explained.bag_F.astype(np.int64),
        **_entity_columns(run, "head", table.head_B[explained.bag_F]),
        **_entity_columns(run, "tail", table.tail_B[explained.bag_F]),
        "relation": [relations[number].name for number in explained.relation_F.tolist()],
        "probability": explained.probability_F,
        "logit": explained.logit_F.astype(np.float32),
        "is_label": run.is_label_F.astype(np.uint8),
        "num_sentences": explained.sentences.length.astype(np.int32),
        "first_evidence": explained.sentences.start[:-1].astype(np.int64),
        "support": list(sufficient.kinds),
        "smallest_size": sufficient.size_F.astype(np.int32),
        "probability_with_smallest": sufficient.with_set_F,
        "probability_without_smallest": sufficient.without_set_F,
        "probability_of_none": sufficient.without_any_F,
        "num_enough": sufficient.num_enough_F.astype(np.int32),
        "disagreement": explained.disagreement_F.astype(np.float32),
        **_by_mechanism("probability_with_top", explained.only_top),
        **_by_mechanism("probability_without_top", explained.without_top),
        **_by_mechanism("distractor_rank", explained.planted_rank),
    }


def _entity_columns(run: Evaluation, side: str, number_F: np.ndarray) -> dict[str, Column]:
    entities, lexicon = run.subject.store.entities, run.subject.model.lexicon
    numbers = pa.array(number_F)
    return {
        f"{side}_id": entities["id"].take(numbers).to_pylist(),
        f"{side}_name": entities["name"].take(numbers).to_pylist(),
        f"{side}_type": [lexicon.types[kind] for kind in lexicon.type_E[number_F].tolist()],
    }


def _evidence(run: Evaluation) -> dict[str, Column]:
    explained = run.explained
    return {
        "fact": run.fact_E,
        "sentence": explained.sentences.value.astype(np.int64),
        "rank": explained.rank_E,
        "is_in_smallest": explained.in_smallest_E.astype(np.uint8),
        "mark": run.mark_E,
        **_by_mechanism("score", explained.scores),
    }


def _words(run: Evaluation) -> dict[str, Column]:
    words, lexicon = run.words, run.subject.model.lexicon
    length = words.tokens.length
    return {
        "fact": np.repeat(words.fact_W, length).astype(np.int64),
        "sentence": np.repeat(words.sentence_W, length).astype(np.int64),
        "place": (np.arange(len(words.tokens.value)) - np.repeat(words.tokens.start[:-1], length)).astype(np.int32),
        "word": [lexicon.text_of(token) for token in words.tokens.value.tolist()],
        "score": words.scores.value.astype(np.float32),
    }


def _by_mechanism(name: str, values: Mapping[str, np.ndarray]) -> dict[str, Column]:
    return {f"{name}.{mechanism}": column.astype(np.float32) for mechanism, column in values.items()}
