"""An evaluated run as the columns of the predictions' files."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sayso import __version__
from sayso.evaluate.evaluation import Evaluation
from sayso.explain.trained_run import read_word
from sayso.store.columns import Column
from sayso.store.predictions import PredictionColumns


def prediction_columns(run: Evaluation) -> PredictionColumns:
    """Return the columns; docs/predictions-store.md says what each holds."""
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
    length = explained.sentences.length
    return {
        "fact": np.repeat(np.arange(len(length)), length),
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
        "word": [read_word(lexicon, token) for token in words.tokens.value.tolist()],
        "score": words.scores.value.astype(np.float32),
    }


def _by_mechanism(name: str, values: Mapping[str, np.ndarray]) -> dict[str, Column]:
    return {f"{name}.{mechanism}": column.astype(np.float32) for mechanism, column in values.items()}
