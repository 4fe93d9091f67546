"""The public API: load or train a model, predict, explain, evaluate.

Shapes: B bags, R relations.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np

from sayso.explain.bag import explain_bag, own_bag
from sayso.facts.corpus_facts import CorpusFacts
from sayso.facts.explanation import Explanation
from sayso.facts.fact import Fact
from sayso.features.lexicon import TypesById
from sayso.features.user_input import label_rows, read_bags
from sayso.model.checkpoint import ModelParts
from sayso.model.ensemble import load_parts, save_parts
from sayso.model.predict import facts_of_corpus, predict_logits, predict_probabilities
from sayso.records import Bag, Sentence
from sayso.store.store import Store
from sayso.train.device import place


class Model:
    """A trained model, scikit-learn style: `predict`, `predict_proba`, `explain`, `evaluate`, `save_pretrained`.

    Example: `model = sayso.load("demo/cnns_att_f_ld")`
    """

    def __init__(self, parts: ModelParts) -> None:
        self.parts = parts

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, device: str = "cpu", quantize: Literal["none", "int8"] = "none"
    ) -> Self:
        """Load a model; see `sayso.load`."""
        parts = load_parts(Path(folder))
        place(parts.extractor, device, quantize)
        return cls(parts)

    def save_pretrained(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write the model to a folder, atomically: `sayso.load` reads it back on any machine.

        Args:
            folder: The folder to write: config.json, model.safetensors, vocabulary and model card; for a model of
                several seeds, one such folder per seed.
            overwrite: Replace a model that is already there.

        Raises:
            UserError: The folder exists and is not empty.

        Example: `model.save_pretrained("models/nyt")`
        """
        save_parts(Path(folder), self.parts, overwrite)

    def limit_table_memory(self, mebibytes: int) -> None:
        """Limit the memory of the tables that speed up prediction on a CPU; results do not depend on the limit.

        Example: `model.limit_table_memory(256)`
        """
        self.parts.extractor.limit_products(mebibytes * 2**20)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the relations, in the order of the columns of `predict_proba`."""
        return tuple(relation.name for relation in self.parts.relations)

    @property
    def variant(self) -> str:
        """The variant's name in the paper, such as `CNNs+ATT+F`."""
        return self.parts.variant

    def __repr__(self) -> str:
        """Return the variant and the number of relations."""
        return f"<sayso.Model {self.variant}: {len(self.parts.relations)} relations>"

    def predict_proba(self, bags: Sequence[Bag], types: TypesById | None = None) -> np.ndarray:
        """Return the probability of every relation for every bag.

        Sentences whose mentions are too far apart for the model are left out; a logged warning counts them.

        Args:
            bags: The bags, one per entity pair.
            types: Entity types by id or by name; they override the types that the model knows.

        Returns:
            An array with one row per bag, in the order given, and one column per name in `relations`. The row of a bag
            without a readable sentence is NaN.

        Raises:
            TypeError: `bags` is a single bag, or contains something that is not a bag.
            ValueError: A bag has no sentences, or a sentence about a different pair.

        Example: `dict(zip(model.relations, model.predict_proba([bag])[0]))`
        """
        readable = read_bags(bags, self.parts.lexicon)
        probability_BR = np.full((len(bags), len(self.relations)), np.nan, np.float32)
        if readable.sentences:
            extractor = self.parts.extractor
            taken = readable.input_bags(len(self.relations), types, extractor.config.use_entities)
            probability_BR[readable.row_B] = predict_probabilities(extractor, taken.part)
        return probability_BR

    def predict(self, bags: Sequence[Bag], threshold: float = 0.5, types: TypesById | None = None) -> list[list[Fact]]:
        """Predict the facts of every bag.

        Args:
            bags: The bags, one per entity pair.
            threshold: The minimum probability of a predicted fact.
            types: Entity types by id or by name; they override the types that the model knows.

        Returns:
            One list per bag, in the order given: its facts, most probable first.

        Raises:
            TypeError, ValueError: As for `predict_proba`.

        Example:
            ```python
            for fact in model.predict([bag], threshold=0.1)[0]:
                print(fact.relation, fact.probability)
            ```
        """
        relations, facts = self.relations, list[list[Fact]]()
        for bag, row in zip(bags, self.predict_proba(bags, types), strict=True):
            ids = {"head_id": bag.head_id, "tail_id": bag.tail_id}
            names = {"head_name": bag.sentences[0].head.name, "tail_name": bag.sentences[0].tail.name}
            ranked = [k for k in np.argsort(-row, kind="stable").tolist() if row[k] >= threshold]
            facts.append([Fact(**ids, **names, relation=relations[k], probability=float(row[k])) for k in ranked])
        return facts

    def evaluate(
        self, data: Store | Sequence[Bag], part: str = "test", types: TypesById | None = None
    ) -> dict[str, float]:
        """Evaluate the predictions against the bags' labels.

        Args:
            data: The store that the model was trained on, or labelled bags.
            part: The part of the store: `test`, `validation` or `train`.
            types: Entity types by id or by name, for bags.

        Returns:
            The metrics of `sayso evaluate` by name: `average_precision`, `area_up_to_recall_0_4`, `max_f1`,
            `precision_at_100`, `precision_at_200`, `precision_at_300`, `num_facts` and `num_bags`. Metrics
            are NaN if no bag has a relation.

        Raises:
            ValueError: A bag has a relation that the model does not know.
            UserError: The store is not the one that the model was trained on, or has no such part.

        Example: `model.evaluate(sayso.Store("demo/store"))["average_precision"]`
        """
        from sayso.evaluate.figures import relation_figures
        from sayso.explain.trained_run import open_model

        if isinstance(data, Store):
            run = open_model(self.parts, Path("model"), data, part)
            logit_BR = predict_logits(self.parts.extractor, run.part)
            return relation_figures(logit_BR, run.label_BR, run.num_facts_unread)
        label_BR = label_rows(data, self.relations)
        # A bag without a readable sentence ranks last.
        return relation_figures(np.nan_to_num(self.predict_proba(data, types)), label_BR)

    def explain(
        self,
        bag: Bag,
        relation: str | None = None,
        methods: Sequence[str] | None = None,
        threshold: float = 0.5,
        types: TypesById | None = None,
    ) -> Explanation:
        """Explain what a prediction rests on.

        Args:
            bag: The sentences of the pair.
            relation: The relation to explain; by default the most probable one.
            methods: Names of mechanisms, such as `attention` or `leave_one_out`; by default all.
            threshold: The minimum probability of a predicted fact.
            types: Entity types by id or by name; they override the types that the model knows.

        Returns:
            The sentences, most important first, with the score of every mechanism, and the support: whether the
            prediction rests on one sentence, on several, or not on the sentences.

        Raises:
            ValueError: The relation or a method is unknown, or the model can read no sentence of the bag.

        Example: `model.explain(bag, methods=["attention", "leave_one_out"]).show()`
        """
        asked = own_bag(self.parts, bag, types)
        return explain_bag(self.parts, asked, (relation,) if relation else (), methods, threshold)[0]

    def predict_corpus(
        self,
        sentences: Iterable[Sentence],
        threshold: float = 0.5,
        top: int | None = None,
        types: TypesById | None = None,
    ) -> CorpusFacts:
        """Predict the facts in a whole corpus, which may be larger than memory.

        Sentences are grouped by pair, and each sentence of a pair counts once.

        Args:
            sentences: The sentences, in any order.
            threshold: The minimum probability of a predicted fact.
            top: Keep only this many facts.
            types: Entity types by id or by name; they override the types that the model knows.

        Returns:
            The facts, most probable first: iterate over it, or call its `to_frame`.

        Raises:
            TypeError: The first item is not a sentence.

        Example: `[fact.relation for fact in model.predict_corpus(sentences, threshold=0.9)]`
        """
        return facts_of_corpus(self.parts, sentences, threshold, top, types or {})


def load(folder: str | Path, device: str = "cpu", quantize: Literal["none", "int8"] = "none") -> Model:
    """Load a trained model.

    Args:
        folder: A run folder written by `sayso train`, or a model folder written by `save_pretrained`. A folder
            written by `sayso train --seeds` is loaded as one model, which averages the probabilities of all seeds.
        device: `cpu`, `cuda`, a torch device such as `cuda:1`, or `auto` for a GPU if there is one.
        quantize: `int8` uses 8-bit matrix products in a pretrained encoder, on a CPU.

    Returns:
        The model, ready to predict.

    Raises:
        UserError: The folder contains no model, or a damaged one.

    Example: `model = sayso.load("demo/cnns_att_f_ld")`
    """
    return Model.from_pretrained(folder, device, quantize)


def train(
    config: str | Path,
    store: Store | str | Path,
    out: str | Path,
    *,
    changes: Iterable[str] = (),
    device: str = "auto",
    resume: bool = False,
) -> Model:
    """Train a model, as `sayso train` does, and return it as of its best epoch.

    Args:
        config: The name of a config, such as `cnns_att_f_ld` (`sayso train --list`), or a TOML file.
        store: The training data, made by `sayso prepare`.
        out: The run folder to write; an interrupted run continues there with `resume`.
        changes: Overrides of settings, such as `train.max_epochs=10`.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        resume: Continue the run in `out`, if there is one.

    Returns:
        The trained model; `sayso.load(out)` loads it again.

    Raises:
        UserError: An unknown config or setting, a store that cannot be used, a folder that contains a different run, or
            training that diverges.

    Example: `model = sayso.train("cnns_att_f_ld", "stores/nyt", "runs/nyt", changes=["train.max_epochs=10"])`
    """
    from sayso.train.config import load_config
    from sayso.train.run import train as train_run

    data = store.folder if isinstance(store, Store) else Path(store)
    train_run(load_config(config, changes), data, Path(out), device, resume)
    return load(out)
