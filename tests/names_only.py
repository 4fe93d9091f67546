"""A baseline that reads names instead of sentences, and the part of an invented test set to compare it on."""

import csv
import json
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from sayso.store.store import Store
from sayso.store.table import BagTable


def label_matrix(table: BagTable, num_relations: int) -> np.ndarray:
    """Return which bag has which label."""
    labels = np.zeros((table.num_bags, num_relations), bool)
    labels[np.repeat(np.arange(table.num_bags), table.relations.length), table.relations.value] = True
    return labels


def names_only_scores(store: Store) -> np.ndarray:
    """Return, for each test bag and relation, the score of a logistic regression on the words of the two names."""
    names = store.entities["name"].to_pylist()

    def features(table: BagTable) -> list[dict[str, int]]:
        pairs = zip(table.head_B.tolist(), table.tail_B.tolist(), strict=True)
        return [
            {f"{role}={word}": 1 for role, entity in (("h", h), ("t", t)) for word in names[entity].split("_")}
            for h, t in pairs
        ]

    train, test = store.part("train"), store.part("test")
    vectorizer = DictVectorizer()
    train_x, test_x = vectorizer.fit_transform(features(train)), vectorizer.transform(features(test))
    labels = label_matrix(train, len(store.relations))
    scores = np.full((test.num_bags, len(store.relations)), -np.inf)
    for relation in range(len(store.relations)):
        if labels[:, relation].any():
            model = LogisticRegression(max_iter=200).fit(train_x, labels[:, relation])
            scores[:, relation] = model.decision_function(test_x)
    return scores


def has_unseen_wording(store: Store, corpus: Path) -> np.ndarray:
    """Return for each test bag whether all its stating sentences have wordings that are not in training."""
    seen: set[tuple[str, str]] = set()
    with (corpus / "test.jsonl").open() as sentences, (corpus / "wordings.tsv").open() as wordings:
        for line, wording in zip(sentences, csv.DictReader(wordings, delimiter="\t"), strict=True):
            if wording["wording"].startswith("/") and wording["in_training"] == "true":
                record = json.loads(line)
                seen.add((record["head"]["id"], record["tail"]["id"]))
    ids, test = store.entities["id"].to_pylist(), store.part("test")
    pairs = zip(test.head_B.tolist(), test.tail_B.tolist(), strict=True)
    return np.array([(ids[head], ids[tail]) not in seen for head, tail in pairs])
