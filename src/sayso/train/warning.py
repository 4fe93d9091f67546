"""Warnings about what a run's data lacks but the run can do without."""

import numpy as np
import torch

from sayso.features.subwords import num_cut
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.pretrained import has_fast_bf16
from sayso.train.data import RunData


def warnings_about(data: RunData, device: torch.device) -> list[str]:
    """Return a warning for each thing that the data lacks but the run can do without."""
    return [
        *_about_relations(data),
        *_about_words(data),
        *_about_length(data),
        *_about_types(data),
        *_about_entities(data),
        *_about_precision(data, device),
    ]


def _about_relations(data: RunData) -> list[str]:
    num_bags_R = np.bincount(data.train.table.relations.value, minlength=data.num_relations)
    without = [data.store.relations[k].name for k in np.flatnonzero(num_bags_R == 0).tolist()]
    if not without:
        return []
    named = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
    return [f"{len(without):,} of {data.num_relations:,} relations have no training bag and cannot be learned: {named}"]


def _about_words(data: RunData) -> list[str]:
    if data.is_pretrained or data.store.vector_VD.shape[1]:
        return []
    return [f"the store has no word vectors: using random ones of width {data.word_VW.shape[1]}"]


def _about_length(data: RunData) -> list[str]:
    encoder = data.config.model.encoder
    if data.pretrained is None or not isinstance(encoder, TransformerConfig):
        return []
    most = min(encoder.max_length, data.pretrained.max_length)
    num = num_cut(data.train.inputs, data.pretrained.subwords.rows, most)
    if not num:
        return []
    return [
        f"{num:,} of {data.train.table.num_sentences:,} training sentences have more than {most} subwords: words far"
        " from both mentions are left out (model.encoder.transformer.max_length)"
    ]


def _about_types(data: RunData) -> list[str]:
    table = data.train.table
    type_E = data.type_E[np.unique(np.concatenate([table.head_B, table.tail_B]))]
    num = int((type_E == 0).sum())
    if not data.config.needs_types or 2 * num <= len(type_E):
        return []
    other = data.store.types[0]
    return [f"{num:,} of {len(type_E):,} training entities have no type: treating them as {other}"]


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
        return f"the store has no {half} vectors for entities: +E runs without them"
    num = int((~vector_EV.any(axis=1)).sum())
    return f"{num:,} of {len(vector_EV):,} training entities have no {half} vector: using zeros" if num else ""


def _about_precision(data: RunData, device: torch.device) -> list[str]:
    precision = data.config.train.precision
    if precision == "float32" or device.type == "cuda":
        return []
    if not (data.is_pretrained and precision == "bf16"):
        return [f"train.precision={precision} applies only to GPUs: this run uses float32"]
    if not has_fast_bf16(device):
        return ["train.precision=bf16 needs a GPU, or a CPU with bfloat16 instructions: this run uses float32"]
    return []
