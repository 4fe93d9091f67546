"""Code shared by commands: options, shell completion, and settings made from options."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

from sayso.config import SEED, Option, Range
from sayso.errors import UserError
from sayso.io.checksum import set_verifying

if TYPE_CHECKING:
    from sayso.engine import Engine

T = TypeVar("T")
AnyForm = TypeVar("AnyForm", bound=str)


def settings_from(kind: type[T], options: Mapping[str, Any]) -> T:
    """Return settings made from the options with the same names; an option that is None keeps the default."""
    given = {field.name: options.get(field.name) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if v is not None})


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options of a settings class in place of each parameter of that class.

    Every field with an `Option` becomes an option, with the field's type, range and default.
    """
    kinds: dict[str, Any] = {name: kind for name, kind in get_type_hints(command).items() if is_dataclass(kind)}
    own = signature(command).parameters
    parameters = list[Parameter]()
    for name, parameter in own.items():
        parameters += _parameters_of(kinds[name]) if name in kinds else [parameter.replace(kind=Parameter.KEYWORD_ONLY)]

    @wraps(command)
    def run(**options: Any) -> None:
        settings = {name: settings_from(kind, options) for name, kind in kinds.items()}
        command(**settings, **{name: options[name] for name in own.keys() - kinds.keys()})

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters_of(kind: type) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        hint, default = hints[field.name], Parameter.empty if field.default is MISSING else field.default
        extras = {type(extra): extra for extra in getattr(hint, "__metadata__", ())}
        if option := extras.get(Option):
            allowed, names = extras.get(Range, SEED), [option.name] * bool(option.name)
            # A seed can be any integer.
            limits = {} if allowed == SEED else {"min": allowed.least, "max": allowed.most}
            type_ = get_args(hint)[0]
            if get_origin(type_) is tuple:
                type_, default = list[get_args(type_)[0]] | None, None  # type: ignore[misc]
            info = typer.Option(*names, help=option.help, **limits)
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, info])


def form_of(out: Path, asked: AnyForm | None, endings: Mapping[AnyForm, str], usual: AnyForm) -> AnyForm:
    """Return the requested format, else the one that matches the file extension, else the default.

    Raises `UserError` if the extension belongs to a different format: readers rely on the extension.

    >>> endings = {"triples": ".tsv", "statements": ".statements.tsv", "csv": ".csv"}
    >>> [form_of(Path(name), None, endings, "csv") for name in ("a.tsv", "a.statements.tsv", "a")]
    ['triples', 'statements', 'csv']
    """
    alike = [name for name, ending in endings.items() if ending and Path(f"file{ending}").suffix == out.suffix]
    if asked is None:
        fitting = [name for name in alike if out.name.endswith(endings[name])]
        # The longest matching extension wins; ties go to the first format.
        return max(fitting, key=lambda name: len(endings[name]), default=usual)
    if alike and asked not in alike:
        raise UserError(f"{out}: this extension means the format {alike[0]}, not {asked}: choose another file name")
    return asked


def complete_configs() -> list[tuple[str, str]]:
    """Return the name and the description of each built-in config."""
    from sayso.configs import config_names, describe_config

    return [(name, describe_config(name)) for name in config_names()]


def complete_variants(incomplete: str) -> list[str]:
    """Complete a comma-separated list of the paper's variants.

    >>> complete_variants("DirectSup,CNNs+ATT+F+L")[0]
    'DirectSup,CNNs+ATT+F+LD'
    """
    before, comma, begun = incomplete.rpartition(",")
    names = sorted({about.partition(":")[0] for _, about in complete_configs()})
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


def store_of(run: Path) -> Path | None:
    """Return the store of a run, as a relative path if possible; None if it is unknown or has moved."""
    from sayso.io.folder import kind_of

    described = next((path for path in (run / "run.json", *run.glob("seed-*/run.json")) if path.is_file()), None)
    try:
        found = Path(json.loads(described.read_bytes())["store"]) if described else None
    except (ValueError, KeyError, TypeError):
        return None  # of an earlier version; if the file is damaged, other commands say so
    return relative(found) if found and kind_of(found) == "store" else None


def corpus_of(store: Path) -> Path | None:
    """Return the built corpus that a store was prepared from; None if it is unknown or has moved."""
    from sayso.io.folder import kind_of
    from sayso.store.store import Store

    corpus = Path(Store(store).manifest["inputs"]["train"]["file"]).parent
    return corpus if kind_of(corpus) == "corpus" else None


def store_of_facts(facts: Path) -> Path | None:
    """Return the store of the run that extracted the facts; None if it is unknown or has moved."""
    from sayso.facts.file import FACTS_FILE, manifest_next_to

    run = manifest_next_to(facts / FACTS_FILE if facts.is_dir() else facts).get("run")
    return store_of(Path(run)) if run else None


def store_of_database(db: Path) -> Path | None:
    """Return the store whose default annotation database this is; None if there is none."""
    from sayso.io.folder import kind_of

    store = db.with_name(db.name.removesuffix(".annotations.db"))
    return store if store != db and kind_of(store) == "store" else None


def relative(path: Path) -> Path:
    """Return a path inside the current folder relative to it, any other path unchanged."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _complete_forms() -> list[str]:
    from sayso.readers import READERS

    return ["auto", *READERS]


def _set_trusted(is_trusted: bool) -> bool:
    set_verifying(not is_trusted)
    return is_trusted


Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="A run folder or a model folder; a folder of several seeds is used as one model."
    ),
]
Device = Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="auto uses a GPU if there is one.")]
Quantize = Annotated[
    Literal["none", "int8"],
    typer.Option(help="int8: use 8-bit matrix products in a pretrained encoder; faster on a CPU."),
]
StorePart = Annotated[
    str,
    typer.Option(
        autocompletion=lambda: ["test", "validation", "train"],
        help="Part of the store; by default test, else validation, else train.",
    ),
]
Methods = Annotated[
    list[str] | None, typer.Option("--method", help="A mechanism; may be repeated. All mechanisms by default.")
]
SentenceForm = Annotated[
    str,
    typer.Option("--input-format", autocompletion=_complete_forms, help="Format of the sentences; auto detects it."),
]
MaxBad = Annotated[
    float,
    typer.Option("--max-bad", min=0.0, max=1.0, help="Fail if more than this fraction of the lines are bad."),
]
TableMemory = Annotated[
    int,
    typer.Option(
        min=0, metavar="MIB", help="Memory for tables that speed up prediction on a CPU; with ray, per worker."
    ),
]
Threshold = Annotated[float, typer.Option(min=0.0, max=1.0, help="Minimum probability of a predicted fact.")]
Wikidata = Annotated[
    Path | None, typer.Option(help="For quickstatements: a TSV file that maps your ids to Wikidata's.")
]
AnnotationDb = Annotated[Path, typer.Option("--db", help="Annotation database used by `sayso serve`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
NoVerify = Annotated[
    bool,
    typer.Option("--no-verify", callback=_set_trusted, help="Skip checksums and range checks, for huge files."),
]


JOBS = "Processes; 0: one per core, and at most one per GB of available memory. The result does not depend on it."
Jobs = Annotated[int, typer.Option(min=0, max=1_024, help=JOBS)]


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options of commands that use all cores, or a cluster."""

    jobs: Annotated[int, Range(0, 1_024), Option(JOBS)] = 0
    engine: Annotated[
        Literal["local", "ray"], Option("local: processes on this machine; ray: the workers of a Ray cluster.")
    ] = "local"
    address: Annotated[str, Option("For ray: the cluster's address; empty starts a local one.")] = ""
    workers: Annotated[int, Range(0, 100_000), Option("For ray: number of workers; 0: one per CPU core or GPU.")] = 0

    def open(self, gpus: float = 0.0) -> "AbstractContextManager[Engine]":
        """Open the engine for a block; raise `UserError` for options that it does not use."""
        from sayso.engine import ENGINES, EngineSettings

        if self.engine == "local" and (self.address or self.workers or gpus):
            raise UserError("--address, --workers and --worker-gpus require --engine ray")
        if self.engine == "ray" and self.jobs:
            raise UserError("--jobs requires --engine local: for ray, use --workers")
        settings = EngineSettings(jobs=self.jobs, address=self.address, num_workers=self.workers, num_gpus=gpus)
        return ENGINES[self.engine](settings)
