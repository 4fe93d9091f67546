"""Code shared by commands: options, shell completion, and settings made from options."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from sayso.errors import UserError
from sayso.io.checksum import set_verifying

if TYPE_CHECKING:
    from sayso.engine.base import Engine

T = TypeVar("T")
AnyForm = TypeVar("AnyForm", bound=str)


def fields_from(kind: type[T], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options named like a field of the dataclass, without None values."""
    given = {field.name: options.get(field.name) for field in fields(kind)}  # type: ignore[arg-type]
    return {name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if v is not None}


def settings_from(kind: type[T], options: Mapping[str, Any]) -> T:
    """Return settings made from the options with the same names: `settings_from(BuildSettings, locals())`."""
    return kind(**fields_from(kind, options))


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


def _complete_forms() -> list[str]:
    from sayso.readers import READERS

    return ["auto", *READERS]


def _set_trusted(is_trusted: bool) -> bool:
    set_verifying(not is_trusted)
    return is_trusted


Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder or a model folder; several seeds are used as one.")
]
Device = Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="auto uses a GPU if there is one.")]
StorePart = Annotated[
    str,
    typer.Option(
        autocompletion=lambda: ["test", "validation", "train"], help="Part of the store: test, validation or train."
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
    typer.Option("--max-bad", min=0.0, max=1.0, help="Fail if more than this share of the lines is bad."),
]
TableMemory = Annotated[
    int, typer.Option(min=0, metavar="MIB", help="Memory for tables that speed up prediction on a CPU, per worker.")
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

EngineName = Annotated[
    Literal["local", "ray"], typer.Option("--engine", help="local: this process; ray: the workers of a Ray cluster.")
]
Address = Annotated[str, typer.Option("--address", help="For ray: the cluster's address; empty starts a local one.")]
Workers = Annotated[
    int, typer.Option("--workers", min=0, help="For ray: number of workers; 0: one per CPU core or GPU.")
]
WorkerGpus = Annotated[float, typer.Option("--worker-gpus", min=0.0, help="For ray: GPUs per worker.")]


@contextmanager
def open_engine(name: str, address: str, workers: int, gpus: float = 0.0) -> "Iterator[Engine]":
    """Open the engine for the block; raise `UserError` for options that it does not use."""
    from sayso.engine import ENGINES
    from sayso.engine.base import EngineSettings

    if name == "local" and (address or workers or gpus):
        raise UserError("--address, --workers and --worker-gpus require --engine ray")
    with ENGINES[name](EngineSettings(address=address, num_workers=workers, num_gpus=gpus)) as engine:
        yield engine
