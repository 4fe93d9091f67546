"""Several models used as one: runs with different seeds, whose probabilities are averaged.

An `Ensemble` is an extractor whose sentence vectors are those of its members side by side. Its logit is that of the
mean probability, o = logit((1/M) Σ_m σ(o_m)), so thresholds, removals and gradients are those of this mean.

Shapes: M members, B bags, N sentences in all bags, D width of a sentence vector (of all members together in an
ensemble), R relations.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sayso.errors import BadInputError
from sayso.features.batch import BagIndex, SentenceBatch
from sayso.features.lexicon import Lexicon
from sayso.features.mentions import ModelInput
from sayso.io.atomic import atomic_folder, refuse_foreign, restore
from sayso.io.json_file import to_json
from sayso.model.aggregators.base import Aggregator, Influence
from sayso.model.checkpoint import (
    CONFIG,
    FILES,
    IN_RUN,
    WEIGHTS,
    ModelParts,
    find_model,
    load_model,
    read_settings,
    save_model,
    write_files,
)
from sayso.model.encoders.base import Encoder
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.extractor import Extractor
from sayso.model.relation import RelationScorer


class Ensemble(Extractor):
    """Predicts the mean of the probabilities of its members, which read the same input and know the same relations."""

    def __init__(self, members: Sequence[Extractor]) -> None:
        nn.Module.__init__(self)
        _share_equal_buffers(members)
        self.config = members[0].config
        # The mean is over the members' calibrated probabilities.
        self.calibration = None
        self.members = nn.ModuleList(members)
        self.aggregator = MeanAggregator(members)
        self.scorer = MeanScorer(members)

    def encode(self, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD, each member's vectors side by side."""
        return torch.cat([member.encode(sentences) for member in _extractors(self.members)], 1)

    def num_cut(self, inputs: ModelInput) -> int:
        """Return how many of the sentences are too long for a member."""
        return max(member.num_cut(inputs) for member in _extractors(self.members))

    def reading_order(self, inputs: ModelInput) -> np.ndarray | None:
        """Return the first member's order: members differ only in their seed."""
        return next(_extractors(self.members)).reading_order(inputs)

    def quantize(self) -> None:
        """Quantize the members."""
        for member in _extractors(self.members):
            member.quantize()

    def limit_products(self, max_bytes: int) -> None:
        """Limit the memory for cached products, which the members share equally."""
        for member in _extractors(self.members):
            member.limit_products(max_bytes // len(self.members))

    def influence_of_members(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return ∂o_k/∂o_mk as [M, B, R]: p_m (1 − p_m) / (M p (1 − p))."""
        logit_MBR = torch.stack([member.classify(part, bags) for member, part in members_with(self, vector_ND)])
        yes_MBR, no_MBR = nn.functional.logsigmoid(logit_MBR), nn.functional.logsigmoid(-logit_MBR)
        total_BR = yes_MBR.logsumexp(0) + no_MBR.logsumexp(0)
        return len(self.members) * (yes_MBR + no_MBR - total_BR).exp()


def members_with(extractor: Extractor, vector_ND: Tensor) -> list[tuple[Extractor, Tensor]]:
    """Return the members of an ensemble, each with its part of the vectors; any other extractor is its only member."""
    if not isinstance(extractor, Ensemble):
        return [(extractor, vector_ND)]
    return _split(extractor.members, vector_ND)


def mean_logit(logits: Sequence[Tensor]) -> Tensor:
    """Return the logit of the mean of the probabilities with these logits, without overflow.

    >>> mean_logit([torch.tensor([0.0, 200.0]), torch.tensor([0.0, -200.0])]).tolist()
    [0.0, 0.0]
    """
    logit = torch.stack(list(logits))
    return nn.functional.logsigmoid(logit).logsumexp(0) - nn.functional.logsigmoid(-logit).logsumexp(0)


class MeanAggregator(Aggregator):
    """The aggregators and scorers of the members; a sentence's weight is the mean of the members' weights."""

    def __init__(self, members: Sequence[Extractor]) -> None:
        nn.Module.__init__(self)
        self.members = nn.ModuleList(members)

    def forward(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return logit_BR of the mean probability."""
        del scorer
        return mean_logit([member.classify(part, bags) for member, part in _split(self.members, vector_ND)])

    def weigh(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return the mean of the members' weights."""
        del scorer
        parts = _split(self.members, vector_ND)
        return torch.stack([each.aggregator.weigh(part, bags, each.scorer) for each, part in parts]).mean(0)

    def own_score(self, vector_ND: Tensor, scorer: RelationScorer) -> Tensor:
        """Return the logit of the mean probability of the sentence alone."""
        del scorer
        parts = _split(self.members, vector_ND)
        return mean_logit([each.aggregator.own_score(part, each.scorer) for each, part in parts])

    def influence(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Influence:
        """Raise `NotImplementedError`: explanations combine the scores of the members instead (`explain/base.py`)."""
        raise NotImplementedError


class MeanScorer(RelationScorer):
    """Scores representations of the members side by side; `relation_RD` and `bias_R` only give shape and device."""

    def __init__(self, members: Sequence[Extractor]) -> None:
        nn.Module.__init__(self)
        self.members = nn.ModuleList(members)
        self.entity = None
        self.register_buffer("relation_RD", torch.cat([each.scorer.relation_RD.detach() for each in members], 1))
        self.register_buffer("bias_R", torch.zeros_like(members[0].scorer.bias_R))

    def score_pooled(self, pooled_BD: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR of the mean probability."""
        parts = _split(self.members, pooled_BD)
        return mean_logit([member.calibrated(member.scorer.score_pooled(part, bags)) for member, part in parts])


def _split(members: nn.ModuleList, vector_ND: Tensor) -> list[tuple[Extractor, Tensor]]:
    return list(zip(_extractors(members), vector_ND.chunk(len(members), 1), strict=True))


def _extractors(members: nn.ModuleList) -> Iterator[Extractor]:
    for member in members:
        assert isinstance(member, Extractor)
        yield member


def _share_equal_buffers(members: Sequence[Extractor]) -> None:
    """Let all members use the first one's frozen vectors if they are equal: they are the largest part of a model."""
    first = dict(members[0].named_buffers())
    for member in members[1:]:
        for name, value in list(member.named_buffers()):
            if name in first and value.dtype == first[name].dtype and value.equal(first[name]):
                owner, _, leaf = name.rpartition(".")
                setattr(member.get_submodule(owner), leaf, first[name])


def _share_subwords(encoder: Encoder, lexicon: Lexicon) -> None:
    """Let an encoder look up the subwords of words that are added to this lexicon."""
    if isinstance(encoder, TransformerEncoder) and lexicon.subwords:
        encoder.pretrained = replace(encoder.pretrained, subwords=lexicon.subwords)


PREFIX = "seed-"
"""Prefix of the folder name of each seed's run or model; the seed follows."""


def seed_folders(folder: Path) -> list[Path]:
    """Return the runs or models of several seeds in a folder, by seed; none if it is a run or a model itself."""
    if (folder / CONFIG).is_file() or (folder / IN_RUN / CONFIG).is_file():
        return []
    names = ("run.json", CONFIG)
    found = {path.parent for name in names for path in folder.glob(f"{PREFIX}*/{name}")}
    return sorted(found, key=lambda path: (len(path.name), path.name))


def load_parts(folder: Path) -> ModelParts:
    """Load a model, or all models of a folder with several seeds as one ensemble, on the CPU.

    Raises:
        BadInputError: Not a model, or the models of the seeds do not belong together.
    """
    restore(folder)
    seeds = seed_folders(folder)
    members = {path.name: load_model(path) for path in seeds}
    if not members:
        return load_model(folder)
    first, *others = members.values()
    for path, other in zip(seeds[1:], others, strict=True):
        _refuse_misfit(path, other, seeds[0], first)
    for parts in others:
        _share_subwords(parts.extractor.encoder, first.lexicon)
    validation = [parts.training.get("validation", {}) for parts in members.values()]
    return replace(
        first,
        extractor=Ensemble([parts.extractor for parts in members.values()]).eval(),
        variant=f"{first.variant} ({len(members)} seeds)" if others else first.variant,
        training={"data_fingerprint": first.training.get("data_fingerprint"), "validation": _means(validation)},
        # Their vocabularies are equal: keep one.
        members={name: replace(parts, lexicon=first.lexicon) for name, parts in members.items()},
    )


def save_parts(folder: Path, parts: ModelParts, overwrite: bool = False) -> None:
    """Write a model, or the models of an ensemble in one folder each, atomically; `load_parts` reads it back."""
    if not parts.members:
        save_model(folder, parts, overwrite)
        return
    if overwrite:
        refuse_foreign(folder, lambda name: _is_saved_member(folder / name), "an ensemble")
    with atomic_folder(folder, overwrite=overwrite) as work:
        for name, member in parts.members.items():
            (work / name).mkdir()
            write_files(work / name, member)


def model_fingerprint(folder: Path) -> str:
    """Return the hash of weights and calibration in a run or model folder, or of all seeds in it."""
    if seeds := seed_folders(folder):
        return hashlib.sha256(" ".join(map(model_fingerprint, seeds)).encode()).hexdigest()[:16]
    folder = find_model(folder)
    with (folder / WEIGHTS).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    # A model without calibration keeps the fingerprint of its weights.
    if calibration := read_settings(folder)[0].calibration:
        digest.update(to_json(calibration._asdict()).encode())
    return digest.hexdigest()[:16]


def _refuse_misfit(path: Path, other: ModelParts, first_path: Path, first: ModelParts) -> None:
    """Raise `BadInputError` unless both models read the same input and differ only in their seed."""
    pairs: dict[str, tuple[Any, Any]] = {
        "data": (other.training.get("data_fingerprint"), first.training.get("data_fingerprint")),
        "relations": (list(other.relations), list(first.relations)),
        "settings": (other.extractor.config, first.extractor.config),
        "kind of mentions": (other.lexicon.mentions, first.lexicon.mentions),
        "vocabulary": (_vocabulary(other), _vocabulary(first)),
    }
    for what, (one, another) in pairs.items():
        if one != another:
            raise BadInputError(
                f"{path}: its {what} differs from that of {first_path.name}: only runs that differ in the seed alone"
                " can be used as one model; move it to a different folder"
            )


def _vocabulary(parts: ModelParts) -> tuple[Any, ...]:
    lexicon = parts.lexicon
    entities = lexicon.entity_ids, lexicon.entity_names, lexicon.type_E.tolist()
    return lexicon.words, *entities, lexicon.types, lexicon.form, lexicon.max_tokens


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric that all rows have."""
    names = [name for name in rows[0] if all(name in row for row in rows)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in names}


def _is_saved_member(path: Path) -> bool:
    return path.name.startswith(PREFIX) and path.is_dir() and all(each.name in FILES for each in path.iterdir())
