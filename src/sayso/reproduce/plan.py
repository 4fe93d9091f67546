"""Which runs make up a reproduction, and which the store has no data for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sayso.errors import BadInputError
from sayso.reproduce.variant import VARIANTS, lack_of, variant_config
from sayso.store.store import Store
from sayso.train.config import RunConfig

QUICK = ("train.max_epochs=10",)
"""What `--quick` changes: so many epochs that all variants train within half an hour on two cores."""

LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The paper's choices for the weight of learning from distractors, of which it takes 1."""
LAMBDA = "lambda-"
GRID_VARIANTS = ("CNNs+ATT+LD", "DirectSup+F+LD")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What was asked for: `changes` (written `a.b=c`) hold for every run, and the grid is that of λ."""

    variants: Sequence[str] = VARIANTS
    num_seeds: int = 3
    changes: Sequence[str] = ()
    is_quick: bool = False
    has_grid: bool = True

    @property
    def all_changes(self) -> tuple[str, ...]:
        """The changes, those of `--quick` first, so that a change of the user's has the last word."""
        return (*(QUICK if self.is_quick else ()), *self.changes)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run; one with a label is a try, judged on validation alone, and in none of the tables."""

    variant: str
    config: RunConfig
    label: str = ""

    @property
    def key(self) -> str:
        """What its files are called."""
        stem = self.variant.lower().replace("+", "_")
        return "-".join(part for part in (stem, self.label, f"seed-{self.config.seed}") if part)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The runs, in the order in which they begin, and the variants left out, each with the reason."""

    jobs: list[Job]
    left_out: dict[str, str]


def make_plan(store: Store, wish: Wish) -> Plan:
    """Return the runs for a store; one without a test part is refused."""
    for part in ("train", "validation", "test"):
        if not store.manifest["parts"].get(part, {}).get("positive_bags"):
            raise BadInputError(f"{store.folder}: the {part} part has no bag with a relation: prepare it with one")
    configs = {name: variant_config(name, wish.all_changes) for name in wish.variants}
    lacks = {name: lack_of(store, config) for name, config in configs.items()}
    left = {name: config for name, config in configs.items() if not lacks[name]}
    if not left:
        raise BadInputError(f"{store.folder}: none of the variants can be trained: {next(iter(lacks.values()))}")
    # Seed by seed, so that a reproduction that is cut short has whole rows of fewer seeds.
    jobs = [
        Job(variant=name, config=replace(config, seed=config.seed + number))
        for number in range(wish.num_seeds)
        for name, config in left.items()
    ]
    return Plan(
        jobs=jobs + (_grid(left) if wish.has_grid else []),
        left_out={name: reason for name, reason in lacks.items() if reason},
    )


def _grid(configs: dict[str, RunConfig]) -> list[Job]:
    """Return the runs of the grid, with the first seed; one of the weights is that of the tables' runs already."""
    return [
        Job(
            variant=name,
            config=replace(configs[name], loss=replace(configs[name].loss, distractor=weight)),
            label=f"{LAMBDA}{weight:g}",
        )
        for name in GRID_VARIANTS
        if name in configs
        for weight in LAMBDAS
        if weight != configs[name].loss.distractor
    ]
