"""The settings of a run, and the name of the variant they describe."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from sayso.config import SEED, Range, apply_changes, check_ranges, fill, read_table, to_table
from sayso.configs import find_config
from sayso.errors import BadConfigError, option
from sayso.features.mentions import Appearance
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.aggregators.noisy_or import NoisyOrConfig
from sayso.model.encoders import ENCODERS
from sayso.model.extractor import KINDS, ModelConfig

_WEIGHT = Range(0, 1e6)
_STEP = Range(0, 1e30, above=True)
"""Larger values overflow in float32."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """How mentions are represented, and the maximum number of sentences per bag in training.

    `random_width` is the width of random word vectors, used if the store has none.
    """

    mentions: Appearance = "words"
    max_bag_sentences: Annotated[int, Range(1, 10**9)] = 25
    random_width: Annotated[int, Range(1, 10_000)] = 100

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """The terms of the loss and their weights; a term with weight 0 is not computed.

    `sentence` is the sentence classifier's term (DirectSup), with `direct_sentences` directly supervised sentences
    per batch. `direct_task` is what is learned from these: `binary`, whether they state a relation (DirectSup only), or
    `relations`, also their own relation labels, with the weight `direct_relations`. `distractor` is the weight λ of
    learning from distractors (+LD), `margin` is its γ, and `distractor_measure` is how a distractor's contribution is
    measured. `known_share` is the fraction of true facts that the knowledge base has; below 1, learning is
    positive-unlabelled (PU). `compatible_na` is the weight of a pair without relations for the relations that its types
    allow. `mark_score` and `mark_ranking` are the weights of learning from marks, with the marks on `marked_bags`
    training bags per batch.
    """

    sentence: Annotated[float, _WEIGHT] = 1.0
    direct_sentences: Annotated[int, Range(0, 10_000)] = 64
    direct_task: Literal["binary", "relations"] = "binary"
    direct_relations: Annotated[float, _WEIGHT] = 1.0
    distractor: Annotated[float, _WEIGHT] = 0.0
    margin: Annotated[float, _WEIGHT] = 1e-5
    distractor_measure: Literal["gradient_x_input", "positive_part", "saliency"] = "gradient_x_input"
    known_share: Annotated[float, Range(0, 1, above=True)] = 1.0
    compatible_na: Annotated[float, _WEIGHT] = 1.0
    mark_score: Annotated[float, _WEIGHT] = 0.0
    mark_ranking: Annotated[float, _WEIGHT] = 0.0
    marked_bags: Annotated[int, Range(1, 10_000)] = 16

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def needs_marks(self) -> bool:
        """Whether training uses marks."""
        return self.mark_score > 0 or self.mark_ranking > 0

    @property
    def weighs_na(self) -> bool:
        """Whether pairs without relations have their own weight where their types allow a relation."""
        return self.compatible_na != 1.0

    @property
    def needs_labels(self) -> bool:
        """Whether training uses the relation labels of directly supervised sentences."""
        return self.direct_task == "relations" and self.direct_relations > 0 and self.direct_sentences > 0

    @property
    def plain_terms(self) -> list[str]:
        """The names of the settings in use that captured steps do not support."""
        is_used = {
            "mark_score": self.mark_score > 0,
            "mark_ranking": self.mark_ranking > 0,
            "direct_task": self.needs_labels,
            "known_share": self.known_share < 1,
            "compatible_na": self.weighs_na,
        }
        return [name for name, is_it in is_used.items() if is_it]


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of the optimisation; the defaults are the paper's, or its baseline's if the paper gives none.

    `patience` is the number of epochs without improvement after which training ends. `pretrained_learning_rate` is for
    the weights of a pretrained encoder. Learning rates rise from 0 in the first `warmup` fraction of the steps, and
    then stay (`schedule = "constant"`) or fall to 0 at the end of `max_epochs` (`linear`). A batch of more than
    `tokens_at_once` tokens is computed in parts whose gradients are added. `precision` applies to matrix products on a
    GPU (`bf16` to those with words, in captured steps, and to a pretrained encoder, which also uses it on CPUs with
    bfloat16 instructions); sums and parameters are always float32.
    `keep` is the epoch whose weights are kept: the best on validation, or the last (with `schedule = "linear"`, the
    one whose learning rate has fallen to 0). `calibration` is fitted on validation after training: an affine map of
    each relation's logit, or none.
    """

    max_epochs: Annotated[int, Range(1, 1_000_000)] = 30
    patience: Annotated[int, Range(1, 1_000_000)] = 10
    batch_bags: Annotated[int, Range(1, 1_000_000)] = 128
    learning_rate: Annotated[float, _STEP] = 1e-3
    pretrained_learning_rate: Annotated[float, _STEP] = 5e-5
    warmup: Annotated[float, Range(0, 1, below=True)] = 0.0
    schedule: Literal["constant", "linear"] = "constant"
    weight_decay: Annotated[float, _WEIGHT] = 0.0
    tokens_at_once: Annotated[int, Range(1, 10**12)] = 10**9
    gradient_clip: Annotated[float, _STEP] = 5.0
    keep: Literal["best", "last"] = "best"
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    calibration: Literal["affine", "none"] = "affine"

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def plain_steps(self) -> list[str]:
        """The names of the settings in use that captured steps do not support."""
        is_used = {
            "warmup": self.warmup > 0,
            "schedule": self.schedule != "constant",
            "weight_decay": self.weight_decay > 0,
            "tokens_at_once": self.tokens_at_once < type(self).tokens_at_once,
        }
        return [name for name, is_it in is_used.items() if is_it]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """All settings of one run; a negative seed is replaced by a random one."""

    seed: Annotated[int, SEED] = 13
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def variant(self) -> str:
        """The paper's name for the variant, such as `CNNs+ATT+F+LD+E`.

        >>> RunConfig().variant
        'CNNs+ATT'
        """
        is_direct = isinstance(self.model.aggregator, DirectConfig)
        encoder = {config: name for name, (config, _) in ENCODERS.items()}[type(self.model.encoder)]
        is_noisy_or = isinstance(self.model.aggregator, NoisyOrConfig)
        shown = {"cnn": "CNN", "pcnn": "PCNN", "transformer": "Transformer", "words": "Words"}[encoder]
        plural = "" if encoder == "words" else "s"
        name = "DirectSup" if is_direct else f"{shown}{plural}+{'OR' if is_noisy_or else 'ATT'}"
        if is_direct and encoder != "cnn":
            name += f"({shown})"
        name += "+C" if getattr(self.model.aggregator, "context", False) else ""
        name += {"words": "", "type": "+F", "type_and_words": "+FE"}[self.data.mentions]
        return name + ("+LD" if self.loss.distractor else "") + ("+E" if self.model.use_entities else "")

    @property
    def needs_types(self) -> bool:
        """Whether training uses entity types: in mentions, for distractors, or to weigh pairs without relations."""
        return self.data.mentions != "words" or self.loss.distractor > 0 or self.loss.weighs_na

    @property
    def plain_settings(self) -> list[str]:
        """The full names of the settings in use that captured steps do not support."""
        return [f"loss.{name}" for name in self.loss.plain_terms] + [f"train.{name}" for name in self.train.plain_steps]

    @property
    def classifies_sentences(self) -> bool:
        """Whether a sentence classifier learns which directly supervised sentences state a relation."""
        has_classifier = isinstance(self.model.aggregator, DirectConfig) and self.loss.sentence > 0
        return has_classifier and self.loss.direct_sentences > 0

    @property
    def needs_direct(self) -> bool:
        """Whether training uses directly supervised sentences."""
        return self.classifies_sentences or self.loss.needs_labels

    def to_table(self) -> dict[str, Any]:
        """Return all settings as nested tables."""
        return to_table(self, KINDS)


def load_config(config: str | Path, changes: Iterable[str] = ()) -> RunConfig:
    """Load a config by name, such as `cnns_att_f_ld`, or from a TOML file, with overrides `a.b=c`."""
    path, made = find_config(config), list(changes)
    table = read_table(path)
    changed = apply_changes(table, made)
    try:
        return config_of(changed)
    except BadConfigError as error:
        source = f"{option('changes', '--set')} {' '.join(made)}" if made and _is_valid(table) else str(path)
        raise BadConfigError(f"{source}: {error}{_hint(str(error))}") from None


def _is_valid(table: dict[str, Any]) -> bool:
    try:
        config_of(table)
    except BadConfigError:
        return False
    return True


def _hint(message: str) -> str:
    """Suggest a setting whose name contains the unknown one, such as `train.max_epochs` for `epochs`."""
    name = message.partition(": no such setting")[0].rpartition(".")[2]
    if not message.endswith(": no such setting"):
        return ""
    groups = {group: value for group, value in RunConfig().to_table().items() if isinstance(value, dict)}
    found = [f"{group}.{each}" for group, value in groups.items() for each in value if name in each]
    return f"; did you mean {found[0]}?" if found else ""


def config_of(table: dict[str, Any]) -> RunConfig:
    """Build the settings from nested tables."""
    return fill(RunConfig, table, KINDS)
