"""A trained model as Python sees it: load it, ask it about bags of one's own, keep it.

Shapes: B bags, R relations.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import torch

from sayso.errors import BadArgumentError
from sayso.explain.bag import BagToExplain, explain_bag
from sayso.facts.corpus_facts import CorpusFacts, FactFinder, JudgedBags
from sayso.facts.explanation import Explanation
from sayso.features.lexicon import TypesById
from sayso.features.own_sentences import Entities, Intake, Taken
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.checkpoint import ModelParts, load_model, save_model
from sayso.model.predict import predict_logits
from sayso.records import Bag, Prediction, Sentence
from sayso.train.device import choose_device

_log = logging.getLogger(__name__)


class _Read(NamedTuple):
    """Sentences of bags that a model can read: `bag_N` is the bag of each, `row_B` the place of each such bag."""

    intake: Intake
    sentences: list[Sentence]
    row_B: np.ndarray
    bag_N: np.ndarray


class Model:
    """A trained model, in the manners of scikit-learn: `predict`, `predict_proba`, `score`.

    `types` gives types for entities, by id or by name; it counts more than what the model knows of them.
    """

    def __init__(self, parts: ModelParts) -> None:
        self.parts = parts

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str = "cpu") -> Self:
        """Return the model of a model folder, or of a run's."""
        parts = load_model(Path(folder))
        parts.extractor.to(choose_device(device) if device.isalpha() else device)
        return cls(parts)

    def save_pretrained(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write the model as a folder, whole or not at all."""
        save_model(Path(folder), self.parts, overwrite)

    def limit_table_memory(self, mebibytes: int) -> None:
        """Let prediction on CPU keep at most so much of the tables by which known words need no products."""
        self.parts.extractor.limit_products(mebibytes * 2**20)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the relations, in the order of the columns of `predict_proba`."""
        return tuple(relation.name for relation in self.parts.relations)

    @property
    def variant(self) -> str:
        """The paper's name of the variant, such as `CNNs+ATT+F`."""
        return self.parts.variant

    def __repr__(self) -> str:
        """Return the variant and how many relations it knows."""
        return f"<sayso.Model {self.variant}: {len(self.parts.relations)} relations>"

    def predict_proba(self, bags: Sequence[Bag], types: TypesById | None = None) -> np.ndarray:
        """Return probability_BR, one row per bag in the order given, one column per relation.

        A sentence whose mentions are too far apart for the model is left out, as `sayso extract` does, and a logged
        warning counts it; a bag of which nothing is left has a row of NaN.

        Raises:
            TypeError: `bags` is a single bag, or holds something else.
            ValueError: a bag without sentences, or a sentence that is not one of its bag's.
        """
        read = self._read_bags(bags)
        probability_BR = np.full((len(bags), len(self.relations)), np.nan, np.float32)
        if read.sentences:
            taken = read.intake.finish(len(self.relations), types or {}, read.bag_N)
            self._warn(taken.entities)
            probability_BR[read.row_B] = self._probabilities(taken)
        return probability_BR

    def predict(
        self, bags: Sequence[Bag], threshold: float = 0.5, types: TypesById | None = None
    ) -> list[list[Prediction]]:
        """Return for each bag the relations of at least this probability, most probable first; see `predict_proba`."""
        probability_BR = self.predict_proba(bags, types)
        names = self.relations
        return [
            [
                Prediction(bag.head_id, bag.tail_id, names[k], float(row[k]))
                for k in np.argsort(-row, kind="stable").tolist()
                if row[k] >= threshold
            ]
            for bag, row in zip(bags, probability_BR, strict=True)
        ]

    def score(self, bags: Sequence[Bag], types: TypesById | None = None) -> float:
        """Return the average precision over all (bag, relation) against the bags' own relations.

        Not a number where no bag has a relation. A relation that the model does not know is a `ValueError`.
        """
        _refuse_other_than_bags(bags)
        column = {name: number for number, name in enumerate(self.relations)}
        label_BR = np.zeros((len(bags), len(column)), bool)
        for row, bag in enumerate(bags):
            for name in bag.relations:
                if name not in column:
                    raise BadArgumentError(f"bag {row + 1}: relation {name!r} is not one of the model's {len(column)}")
                label_BR[row, column[name]] = True
        # In a bag that cannot be read nothing is found.
        return average_precision(precision_recall_curve(np.nan_to_num(self.predict_proba(bags, types)), label_BR))

    def explain(
        self,
        bag: Bag,
        relation: str | None = None,
        methods: Sequence[str] | None = None,
        threshold: float = 0.5,
        types: TypesById | None = None,
    ) -> Explanation:
        """Return why the model says that the pair stands in a relation, the most probable one where none is named.

        `methods` are names of mechanisms, all where none are given. Sentences whose mentions are too far apart for the
        model are left out, and a logged warning counts them.

        Raises:
            ValueError: a relation that the model does not know, or a bag of which no sentence can be read.
        """
        return self.explanations(bag, (relation,) if relation else (), methods, threshold, types)[0]

    def explanations(
        self,
        bag: Bag,
        relations: Sequence[str] = (),
        methods: Sequence[str] | None = None,
        threshold: float = 0.5,
        types: TypesById | None = None,
    ) -> list[Explanation]:
        """Return `explain` for several relations, most probable first, reading the bag once.

        Without `relations`: those of at least the threshold, or the most probable one.
        """
        read = self._read_bags([bag])
        if not read.sentences:
            raise BadArgumentError(f"no sentence of ({bag.head_id}, {bag.tail_id}) can be read: {self._too_far_apart}")
        taken = read.intake.finish(len(self.relations), types or {}, read.bag_N)
        self._warn(taken.entities)
        type_L, names = taken.entities.recognised.type_L, self.parts.lexicon.types
        asked = BagToExplain(
            part=taken.part,
            sentences=tuple(read.sentences),
            head_type=names[int(type_L[taken.head_B[0]])],
            tail_type=names[int(type_L[taken.tail_B[0]])],
            labels=bag.relations or None,
        )
        return explain_bag(self.parts, asked, relations, methods, threshold)

    def predict_corpus(
        self,
        sentences: Iterable[Sentence],
        threshold: float = 0.5,
        top: int | None = None,
        types: TypesById | None = None,
    ) -> CorpusFacts:
        """Return the facts of at least this probability that a corpus holds, every sentence of a pair counted once.

        The corpus may be larger than memory; of it only the entities and the facts that are found are held.
        """
        intake = Intake(self.parts.lexicon)
        intake.add_stream(_sentences_alone(sentences))
        entities = intake.recognise(types or {})
        self._warn(entities)
        finder, num_repeated = FactFinder(threshold, top), 0
        for taken in intake.portions(len(self.parts.relations), entities):
            size_B = taken.part.table.size_B
            finder.add(JudgedBags(self._probabilities(taken), taken.head_B, taken.tail_B, taken.line_B, size_B))
            num_repeated += taken.num_repeated
        return CorpusFacts(
            found_F=finder.sorted(),
            relations=self.relations,
            entity_ids=entities.ids,
            names=entities.names,
            num_pairs=finder.num_pairs,
            num_repeated=num_repeated,
            num_too_far_apart=intake.num_too_far_apart,
            highest=finder.highest,
        )

    def _read_bags(self, bags: Sequence[Bag]) -> "_Read":
        """Return the sentences that the model can read, and whose they are; the others are counted in a warning."""
        _refuse_other_than_bags(bags)
        intake, rows, read = Intake(self.parts.lexicon), [], []
        for row, bag in enumerate(bags):
            where = f"bag {row + 1} ({bag.head_id}, {bag.tail_id})"
            if not bag.sentences:
                raise BadArgumentError(f"{where} has no sentences")
            for place, sentence in enumerate(bag.sentences, 1):
                if fault := _fault(sentence, bag):
                    raise BadArgumentError(f"{where}: sentence {place}: {fault}")
                if intake.add(sentence):
                    rows.append(row)
                    read.append(sentence)
        if intake.num_too_far_apart:
            num = intake.num_too_far_apart
            left_out = "1 sentence is left out" if num == 1 else f"{num:,} sentences are left out"
            _log.warning("%s: %s", left_out, self._too_far_apart)
        row_B, bag_N = np.unique(np.array(rows, np.int64), return_inverse=True)
        return _Read(intake, read, row_B, bag_N)

    @property
    def _too_far_apart(self) -> str:
        return f"no {self.parts.lexicon.max_tokens} tokens in a row hold both mentions"

    def _probabilities(self, taken: Taken) -> np.ndarray:
        logit_BR = torch.from_numpy(predict_logits(self.parts.extractor, taken.part))
        return logit_BR.sigmoid().numpy()

    def _warn(self, entities: Entities) -> None:
        """Say how many entities are unknown, where the model looks at more than their words."""
        seen, uses_types = entities.recognised, self.parts.lexicon.mentions != "words"
        if not seen.num_unknown or not (uses_types or self.parts.extractor.config.use_entities):
            return
        untyped = (
            f"; {seen.num_untyped:,} have no type and count as {self.parts.lexicon.types[0]}: give some as `types`"
        )
        _log.warning(
            "%s of %s entities are unknown to the model%s",
            f"{seen.num_unknown:,}",
            f"{len(entities.ids):,}",
            untyped if uses_types and seen.num_untyped else "",
        )


def load(folder: str | Path, device: str = "cpu") -> Model:
    """Return the model of a model folder, or of a run's."""
    return Model.from_pretrained(folder, device)


def _sentences_alone(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences; where the first is not one, somebody has given bags, or the name of a file."""
    for number, sentence in enumerate(sentences):
        if not number and not isinstance(sentence, Sentence):
            raise TypeError(f"records of sayso.Sentence are expected, not of {type(sentence).__name__}")
        yield sentence


def _refuse_other_than_bags(bags: Sequence[Bag]) -> None:
    """Raise `TypeError` for what is not a list of bags; a bag is a tuple itself, and would be taken for one."""
    if isinstance(bags, Bag):
        raise TypeError("a list of bags is expected, not a single bag: write [bag]")
    for number, bag in enumerate(bags, 1):
        if not isinstance(bag, Bag):
            raise TypeError(f"bag {number} is a {type(bag).__name__}, not a sayso.Bag: see Bag.from_sentences")


def _fault(sentence: Sentence, bag: Bag) -> str:
    """Return what is wrong with a sentence that somebody has built by hand; nothing where all is well."""
    if sentence.pair != (bag.head_id, bag.tail_id):
        return f"it names the pair {sentence.pair}"
    spans = (*sentence.head.spans, *sentence.tail.spans)
    if not sentence.head.spans or not sentence.tail.spans:
        return "a mention has no spans"
    if any(not 0 <= start < stop <= len(sentence.tokens) for start, stop in spans):
        return f"a mention lies outside the {len(sentence.tokens)} tokens"
    if any(one.stop > other.start for one, other in pairwise(sorted(spans))):
        return "mentions overlap"
    return ""
