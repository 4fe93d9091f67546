"""The facts that a model finds in a whole corpus, which may be larger than memory."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from sayso.facts.corpus_facts import CorpusFacts, FactFinder, JudgedBags
from sayso.features.batch import Part
from sayso.features.lexicon import TypesById
from sayso.features.own_bags import warn_unknown
from sayso.features.own_sentences import InputBuilder
from sayso.model.checkpoint import ModelParts
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.records import Sentence


def predict_probabilities(extractor: Extractor, part: Part) -> np.ndarray:
    """Return probability_BR."""
    return torch.from_numpy(predict_logits(extractor, part)).sigmoid().numpy()


def facts_of_corpus(
    model: ModelParts, sentences: Iterable[Sentence], threshold: float, top: int | None, types: TypesById
) -> CorpusFacts:
    """Return the predicted facts, most probable first; only the entities and the facts are held in memory."""
    intake = InputBuilder(model.lexicon)
    intake.add_stream(_only_sentences(sentences))
    entities = intake.recognise(types)
    warn_unknown(entities, model.lexicon, model.extractor.config.use_entities)
    finder, num_repeated = FactFinder(threshold, top), 0
    for taken in intake.portions(len(model.relations), entities):
        probability_BR = predict_probabilities(model.extractor, taken.part)
        size_B = taken.part.table.size_B
        finder.add(JudgedBags(probability_BR, taken.head_B, taken.tail_B, taken.line_B, size_B))
        num_repeated += taken.num_repeated
    return CorpusFacts(
        found_F=finder.sorted(),
        relations=[relation.name for relation in model.relations],
        entity_ids=entities.ids,
        names=entities.names,
        num_pairs=finder.num_pairs,
        num_repeated=num_repeated,
        num_too_far_apart=intake.num_too_far_apart,
        highest=finder.highest,
    )


def _only_sentences(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences; raise if the first is something else, such as a bag or a file name."""
    for number, sentence in enumerate(sentences):
        if not number and not isinstance(sentence, Sentence):
            raise TypeError(f"records of sayso.Sentence are expected, not of {type(sentence).__name__}")
        yield sentence
