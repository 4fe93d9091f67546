"""Projects: a folder with a `project.toml` that names the documents, the knowledge base and the settings of each stage.

`run.py` runs the stages (`stages.py`), from documents to facts.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from sayso.annotate.decisions import decisions
from sayso.annotate.store import reading_from
from sayso.config import SHARE, Range, check_ranges, fill, read_table, to_table
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.embeddings.skip_gram import SkipGramSettings
from sayso.errors import BadConfigError, UserError, as_command
from sayso.facts.export import FORMS
from sayso.input_file import refuse_missing
from sayso.io.atomic import write_text
from sayso.readers.files import read_text
from sayso.store.inputs import PrepareSettings

PROJECT = "project.toml"
_TEMPLATE = Path(__file__).with_name("template.toml")
DATABASE = "annotations.db"
FormatName = Literal["jsonl", "parquet", "tsv", "jsonld", "quickstatements"]
CNN, PRETRAINED = "recommended_cnn", "recommended"
"""The configs without and with a pretrained encoder."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """The config (empty: the recommended one), the number of seeds, and changes such as `train.max_epochs=5`."""

    config: str = ""
    seeds: Annotated[int, Range(1, 1_000)] = 1
    changes: tuple[str, ...] = ()
    device: str = "auto"

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class FactSettings:
    """The precision of new facts to aim at, and how the facts are written."""

    precision: Annotated[float, Range(0.01, 1.0)] = 0.8
    kb_completeness: Annotated[float, Range(0.01, 0.99)] = 0.5
    evidence: Annotated[int, Range(1, 100_000)] = 5
    formats: tuple[FormatName, ...] = ("jsonl",)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class ProjectSettings:
    """Everything that `project.toml` says; paths as written there, empty if not given."""

    documents: str
    kb: str
    names: str = ""
    types: str = ""
    relations: str = ""
    stop_names: str = ""
    exceptions: str = ""
    encoder: str = ""
    decisions: tuple[str, ...] = (DATABASE,)
    max_bad: Annotated[float, SHARE] = 0.05
    build: BuildSettings = field(default_factory=BuildSettings)
    vectors: SkipGramSettings = field(default_factory=lambda: SkipGramSettings(width=50))
    prepare: PrepareSettings = field(default_factory=lambda: PrepareSettings(folds=5))
    train: TrainSettings = field(default_factory=TrainSettings)
    extract: FactSettings = field(default_factory=FactSettings)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project's folder and settings, and the folders of its results."""

    folder: Path
    settings: ProjectSettings

    def path(self, written: str) -> Path:
        """Return a path written in `project.toml`; it is relative to the project's folder."""
        return self.folder / Path(written).expanduser()

    @property
    def corpus(self) -> Path:
        """The corpus that is built."""
        return self.folder / "corpus"

    @property
    def words(self) -> Path:
        """The word vectors that are trained, for a model without a pretrained encoder."""
        return self.folder / "words.bin"

    @property
    def store(self) -> Path:
        """The store that is prepared."""
        return self.folder / "store"

    @property
    def run(self) -> Path:
        """The run that is trained."""
        return self.folder / "run"

    @property
    def facts(self) -> Path:
        """The folder of the extracted facts."""
        return self.folder / "facts"

    @property
    def database(self) -> Path:
        """The database of the project's review page."""
        return self.folder / DATABASE

    @property
    def build_inputs(self) -> BuildInputs:
        """The documents and tables."""
        optional = ("names", "types", "relations", "stop_names", "exceptions")
        given = {name: self.path(written) for name in optional if (written := getattr(self.settings, name))}
        return BuildInputs(documents=self.path(self.settings.documents), kb=self.path(self.settings.kb), **given)

    @property
    def decisions(self) -> list[Path]:
        """The files and databases with decisions; a database does not exist before the first decision."""
        paths = [self.path(written) for written in self.settings.decisions]
        return [path for path in paths if path.suffix != ".db" or path.exists()]


def decision_lines(project: Project) -> str:
    """Return the decisions in the project's files and databases as JSON lines."""
    lines, form = "", FORMS["decisions"]
    for path in project.decisions:
        if path.suffix == ".db":
            with reading_from(path) as connection:
                lines += form.write(form.keep(decisions(connection)[0])[0])
        else:
            lines += read_text(path, "decisions").rstrip("\n") + "\n"
    return lines


def open_project(folder: Path) -> Project:
    """Read a project, given its folder or its `project.toml`.

    Raises:
        UserError: there is no project, a setting is unknown or invalid (with file and line), or an input is missing.
    """
    if folder.name == PROJECT and not folder.is_dir():
        folder = folder.parent
    path = folder / PROJECT
    if not path.is_file():
        raise UserError(f"{folder}: no {PROJECT} here: make a project with `sayso new`")
    project = Project(folder=folder, settings=_read(path))
    inputs = project.build_inputs
    refuse_missing([inputs.documents, *inputs.tables().values(), *project.decisions])
    if project.settings.encoder and not project.path(project.settings.encoder).is_dir():
        raise UserError(f"{path}: encoder: {project.path(project.settings.encoder)}: no such folder")
    return project


def _read(path: Path) -> ProjectSettings:
    table = read_table(path)
    try:
        defaults = to_table(ProjectSettings(documents="", kb=""), {})
        settings = fill(ProjectSettings, _merged(defaults, table), {})
    except UserError as error:
        found = re.match(r"[\w.-]+", str(error))
        line = line_of(path.read_text("utf-8"), found[0]) if found else 0
        raise BadConfigError(f"{path}{f':{line}' if line else ''}: {error}") from None
    for name, what in (("documents", "the documents"), ("kb", "the facts you have")):
        if not getattr(settings, name):
            raise BadConfigError(f"{path}: {name} is missing: name the file with {what}")
    return settings


def _merged(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    both = {**defaults, **table}
    return {
        name: _merged(defaults[name], value)
        if isinstance(value, dict) and isinstance(defaults.get(name), dict)
        else value
        for name, value in both.items()
    }


def line_of(text: str, key: str) -> int:
    """Return the line of a TOML file that sets a key such as `build.seed`; 0 if there is none.

    >>> line_of("kb = 1\\n[build]\\nkb = 2\\n", "build.kb")
    3
    """
    section, elsewhere = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            section = f"{header[1]}."
            if header[1] == key:
                return number
        elif name := re.match(r"\s*([\w.-]+)\s*=", line):
            if f"{section}{name[1]}" == key:
                return number
            if name[1] == key:  # a message that does not name the section
                elsewhere = elsewhere or number
    return elsewhere


def new_project(folder: Path, inputs: BuildInputs, encoder: Path | None = None) -> Path:
    """Write the `project.toml` of a new project, with paths relative to it if they are near; return the file.

    Raises:
        UserError: there is already a project, or an input is missing.
    """
    path = folder / PROJECT
    if path.exists():
        raise UserError(f"{path}: this is already a project: change the file, or choose another folder")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: a file with this name exists; choose another folder")
    refuse_missing([inputs.documents, *inputs.tables().values(), *([encoder] if encoder else [])])
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, _template(folder, inputs, encoder))
    return path


def _template(folder: Path, inputs: BuildInputs, encoder: Path | None) -> str:
    def entry(name: str, value: Path | None, about: str) -> str:
        shown = f"{name} = {_quoted(_near(value, folder) if value else '')}"
        return f"# {about}\n{'# ' if value is None else ''}{shown}"

    rows = [
        entry("documents", inputs.documents, "A folder of .txt and .html, JSON lines (id, text), or one text file."),
        entry("kb", inputs.kb, "The facts you have: head id, relation, tail id, separated by tabs."),
        entry("names", inputs.names, "Names of the entities: id, name, other names. Otherwise, the ids are the names."),
        entry("types", inputs.types, "Types of the entities (JSON or TSV). Results are much better with types."),
        entry(
            "relations", inputs.relations, "Relations: definition, example, functional. Otherwise, those of the facts."
        ),
        *(
            entry(name, given, about)
            for name, given, about in (
                ("stop_names", inputs.stop_names, "More names to skip, one per line."),
                ("exceptions", inputs.exceptions, "Links that reviewers found wrong."),
            )
            if given
        ),
        entry("encoder", encoder, "Folder of a pretrained encoder, such as MiniLM. Otherwise, a CNN is trained."),
    ]
    name = folder.name or folder.resolve().name
    name = name if name.isprintable() else "DIR"
    return _TEMPLATE.read_text("utf-8").replace("# {inputs}", "\n\n".join(rows)).replace("{folder}", as_command(name))


def _near(path: Path, folder: Path) -> str:
    """Return a path relative to the folder if it is inside it or beside it, else the absolute path."""
    near = os.path.relpath(path.resolve(), folder.resolve())
    return str(path.resolve()) if Path(near).parts[:2] == ("..", "..") else near


def _quoted(text: str) -> str:
    """Return the text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
