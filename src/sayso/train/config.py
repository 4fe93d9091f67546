"""The settings of a whole run, and the name of the variant they describe."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from sayso.config import SEED, Range, apply_changes, check_ranges, fill, read_table, to_table
from sayso.configs import find_config
from sayso.errors import BadConfigError, option
from sayso.features.mentions import Appearance
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.encoders import ENCODERS
from sayso.model.extractor import KINDS, ModelConfig

_WEIGHT = Range(0, 1e6)
_STEP = Range(0, 1e30, above=True)
"""What is larger cannot be computed with in float32."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """What the model reads: how mentions appear, and how many sentences of a bag in training.

    `random_width` is the width of random word vectors, for a store without vectors.
    """

    mentions: Appearance = "words"
    max_bag_sentences: Annotated[int, Range(1, 10**9)] = 25
    random_width: Annotated[int, Range(1, 10_000)] = 100

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """The terms of the loss and their weights; a term of weight 0 is not computed.

    `sentence` is the sentence classifier's term (DirectSup), with `direct_sentences` directly supervised sentences a
    batch. `distractor` is λ of learning from distractors (+LD), `margin` its γ; the distractor's contribution is
    measured by `distractor_measure`.
    """

    sentence: Annotated[float, _WEIGHT] = 1.0
    direct_sentences: Annotated[int, Range(0, 10_000)] = 64
    distractor: Annotated[float, _WEIGHT] = 0.0
    margin: Annotated[float, _WEIGHT] = 1e-5
    distractor_measure: Literal["gradient_x_input", "positive_part", "saliency"] = "gradient_x_input"

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the parameters are found; the defaults are the paper's where it names them, else its baseline's.

    `patience` is the number of epochs without a better one after which training ends. `precision` is that of matrix
    products on a GPU (`bf16`: of those with words, in captured steps); sums and parameters are always float32.
    """

    max_epochs: Annotated[int, Range(1, 1_000_000)] = 30
    patience: Annotated[int, Range(1, 1_000_000)] = 10
    batch_bags: Annotated[int, Range(1, 1_000_000)] = 128
    learning_rate: Annotated[float, _STEP] = 1e-3
    gradient_clip: Annotated[float, _STEP] = 5.0
    precision: Literal["float32", "tf32", "bf16"] = "float32"

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run, whole; a negative seed means that one is drawn."""

    seed: Annotated[int, SEED] = 13
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def variant(self) -> str:
        """The paper's name of the variant, such as `CNNs+ATT+F+LD+E`.

        >>> RunConfig().variant
        'CNNs+ATT'
        """
        is_direct = isinstance(self.model.aggregator, DirectConfig)
        encoder = {config: name for name, (config, _) in ENCODERS.items()}[type(self.model.encoder)]
        name = "DirectSup" if is_direct else f"{encoder.upper()}s+ATT"
        if is_direct and encoder != "cnn":
            name += f"({encoder.upper()})"
        name += {"words": "", "type": "+F", "type_and_words": "+FE"}[self.data.mentions]
        return name + ("+LD" if self.loss.distractor else "") + ("+E" if self.model.use_entities else "")

    @property
    def needs_types(self) -> bool:
        """Whether entity types are part of training: in mentions, or to choose distractors."""
        return self.data.mentions != "words" or self.loss.distractor > 0

    @property
    def needs_direct(self) -> bool:
        """Whether directly supervised sentences are part of training."""
        is_judged = isinstance(self.model.aggregator, DirectConfig) and self.loss.sentence > 0
        return is_judged and self.loss.direct_sentences > 0

    def to_table(self) -> dict[str, Any]:
        """Return all settings as nested tables."""
        return to_table(self, KINDS)


def load_config(config: str | Path, changes: Iterable[str] = ()) -> RunConfig:
    """Return the run that a config describes, a name such as `cnns_att_f_ld` or a TOML file, with changes `a.b=c`."""
    path, made = find_config(config), list(changes)
    table = read_table(path)
    changed = apply_changes(table, made)
    try:
        return config_of(changed)
    except BadConfigError as error:
        source = f"{option('changes', '--set')} {' '.join(made)}" if made and _is_whole(table) else str(path)
        raise BadConfigError(f"{source}: {error}{_elsewhere(str(error))}") from None


def _is_whole(table: dict[str, Any]) -> bool:
    try:
        config_of(table)
    except BadConfigError:
        return False
    return True


def _elsewhere(message: str) -> str:
    """Return the setting that was meant where a message knows none of this name: `epochs` is `train.max_epochs`."""
    name = message.partition(": no such setting")[0].rpartition(".")[2]
    if not message.endswith(": no such setting"):
        return ""
    groups = {group: value for group, value in RunConfig().to_table().items() if isinstance(value, dict)}
    found = [f"{group}.{each}" for group, value in groups.items() for each in value if name in each]
    return f"; did you mean {found[0]}?" if found else ""


def config_of(table: dict[str, Any]) -> RunConfig:
    """Return the run that nested tables describe."""
    return fill(RunConfig, table, KINDS)
