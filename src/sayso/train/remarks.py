"""What a person should know about a run before it begins: what its data lack, and what is done about it."""

import numpy as np

from sayso.train.data import RunData


def remarks_on(data: RunData, device_type: str) -> list[str]:
    """Return one line for each thing that does not stop the run but may surprise."""
    return [
        *_about_relations(data),
        *_about_words(data),
        *_about_types(data),
        *_about_entities(data),
        *_about_precision(data, device_type),
    ]


def _about_relations(data: RunData) -> list[str]:
    num_bags_R = np.bincount(data.train.table.relations.value, minlength=data.num_relations)
    without = [data.store.relations[k].name for k in np.flatnonzero(num_bags_R == 0).tolist()]
    if not without:
        return []
    named = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
    return [f"{len(without):,} of {data.num_relations:,} relations have no training bag and cannot be learned: {named}"]


def _about_words(data: RunData) -> list[str]:
    if data.store.vector_VD.shape[1]:
        return []
    return [f"the store has no word vectors: random ones of width {data.word_VW.shape[1]} stand in for them"]


def _about_types(data: RunData) -> list[str]:
    table = data.train.table
    type_E = data.type_E[np.unique(np.concatenate([table.head_B, table.tail_B]))]
    num = int((type_E == 0).sum())
    if not data.config.needs_types or 2 * num <= len(type_E):
        return []
    other = data.store.types[0]
    return [f"{num:,} of {len(type_E):,} training entities have no type: {other} stands in for it"]


def _about_entities(data: RunData) -> list[str]:
    if not data.config.model.use_entities:
        return []
    table = data.train.table
    row_E = np.unique(np.concatenate([table.head_B, table.tail_B])) + 1
    vectors, name_width = data.entity_EV[row_E], int(data.store.manifest["entity_vectors"]["name_width"])
    # One half of the vector comes from the words of the entity's name, one from the knowledge graph.
    halves = {"name": vectors[:, :name_width], "graph": vectors[:, name_width:]}
    return [line for half, part in halves.items() if (line := _about_half(half, part))]


def _about_half(half: str, vector_EV: np.ndarray) -> str:
    if not vector_EV.shape[1]:
        return f"the store has no {half} vectors of entities: +E goes without them"
    num = int((~vector_EV.any(axis=1)).sum())
    return (
        f"{num:,} of {len(vector_EV):,} training entities have no {half} vector: zeros stand in for it" if num else ""
    )


def _about_precision(data: RunData, device_type: str) -> list[str]:
    if data.config.train.precision == "float32" or device_type == "cuda":
        return []
    return [f"train.precision={data.config.train.precision} is for GPUs: this run computes in float32"]
