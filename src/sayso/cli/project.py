"""`sayso new` and `sayso run`: from documents and a knowledge base to facts, in one folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.build import print_corpus
from sayso.cli.console import interrupted, note, print_json, print_result, print_table, say, say_next, stages
from sayso.cli.corpus import print_survey
from sayso.cli.extract import print_extraction, print_thresholds
from sayso.cli.options import AsJson, with_settings
from sayso.cli.prepare import print_store
from sayso.cli.progress import clock, shown_epochs
from sayso.cli.train import print_runs, training_record
from sayso.documents.settings import BuildInputs
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.project.run import StageResult
    from sayso.project.stages import StageProgress

_Project = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the project.")]


@with_settings
def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new project.")],
    inputs: BuildInputs,
    encoder: Annotated[
        Path | None, typer.Option(help="Folder of a pretrained encoder, such as MiniLM; without one, a CNN is trained.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a project: a folder with a commented `project.toml`, which `sayso run` takes from documents to facts.

    Example: `sayso new wiki --documents articles --kb kb.tsv --names names.tsv --types types.json`
    """
    from sayso.project import new_project, open_project

    path = new_project(folder, inputs, encoder)
    open_project(folder)
    print_result(
        as_json, {"project": str(folder), "written": str(path)}, f"{path}: check the settings, then run the project"
    )
    say_next(str(path), as_command("sayso", "run", folder))


def run(
    folder: _Project,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what each stage would do, and why.")] = False,
    keep_model: Annotated[
        bool,
        typer.Option("--keep-model", help="Do not train again: find facts in new documents with the existing model."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a project: build, check, vectors, prepare, train with folds and calibration, extract.

    Stages whose inputs have not changed are skipped; an interrupted stage continues where it stopped. Every stage does
    what the command of the same name does, in the project's folder.

    Example: `sayso run wiki`
    """
    from sayso.project import open_project
    from sayso.project.run import plan_project, run_project

    project = open_project(folder)
    if dry_run:
        plan = list(plan_project(project, keep_model))
        print_result(as_json, [_record(each) for each in plan], lambda: _print_plan(plan))
        return
    if not project.settings.encoder:
        note("no encoder is given: a CNN is trained (config recommended_cnn)")
    results = []
    try:
        for result in run_project(project, _shown, keep_model):
            results.append(result)
            _tell(result, as_json)
    except KeyboardInterrupt as error:
        raise interrupted(error, f"interrupted; continue with {as_command('sayso', 'run', folder)}") from None
    except UserError as error:
        # Settings by their names in project.toml, not by the options of the single commands.
        raise UserError(str(error)) from error
    if as_json:
        print_json({"project": str(folder), "facts": str(project.facts), "stages": [_record(each) for each in results]})
    total = sum(each.seconds for each in results)
    is_new = any(each.status == "done" for each in results)
    if not is_new:
        note(f"nothing has changed: the facts are in {project.facts}")
    wrote = f"{project.facts} (total time {clock(total)})" if is_new else ""
    say_next(wrote, as_command("sayso", "serve", folder))


@contextmanager
def _shown(name: str, number: int, num: int, reason: str) -> Iterator["StageProgress"]:
    """Announce a stage and show its progress while it runs."""
    from sayso.project.stages import StageProgress

    note(f"stage {number} of {num}: {name} ({reason})")
    if name == "train":
        with shown_epochs() as display:
            yield StageProgress(training=display.callbacks())
    else:
        with stages() as show:
            yield StageProgress(on_progress=show)


def _tell(result: "StageResult", as_json: bool) -> None:
    if result.status != "done":
        note(f"{result.stage}: {result.reason}, skipped")
        return
    if not as_json:
        _PRINT[result.stage](result.result)
    note(f"{result.stage}: done in {clock(result.seconds)}")


def _print_vectors(report: Any) -> None:
    say(f"{report.num_words:,} words from {report.num_sentences:,} distinct sentences")


def _print_training(trained: Any) -> None:
    print_runs(training_record(trained.config, trained.runs))


def _print_facts(found: Any) -> None:
    if found.chosen is None:
        note("too few known facts to estimate a precision: facts with a probability of at least 0.5")
    else:
        print_thresholds(found.chosen)
    print_extraction(found.extraction)


_PRINT: dict[str, Callable[[Any], None]] = {
    "build": print_corpus,
    "check": print_survey,
    "vectors": _print_vectors,
    "prepare": print_store,
    "train": _print_training,
    "extract": _print_facts,
}


def _print_plan(plan: "list[StageResult]") -> None:
    rows = [[each.stage, each.status, each.reason, clock(each.seconds) if each.seconds else "–"] for each in plan]
    print_table("plan", ["stage", "", "why", "last time"], rows, num_text=3)


def _record(result: "StageResult") -> dict[str, Any]:
    """Return how a stage ended as plain values, with its counts."""
    found = result.result
    counts: Any = found
    if result.stage == "check" and found:
        counts = found.record
    elif result.stage == "vectors" and found:
        counts = vars(found)
    elif result.stage == "train" and found:
        counts = training_record(found.config, found.runs)
    elif result.stage == "extract" and found:
        counts = found.extraction.manifest
    return {**result._asdict(), "result": counts}
