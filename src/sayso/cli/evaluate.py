"""`sayso evaluate`: measure how well runs predict facts and explain them."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import note, print_result, print_table, say, say_next, stages
from sayso.cli.options import AsJson, Device, Methods, NoVerify, Quantize, StorePart, Threshold, settings_from

if TYPE_CHECKING:
    from sayso.explain.trained_run import TrainedRun
    from sayso.store.marks import SentenceMarks
    from sayso.store.store import Store

_NUM_UNMATCHED_SHOWN = 5
_INTERVALS = ("area_up_to_recall_0_4", "average_precision", "max_f1")


def evaluate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Run folders, all trained on the same store; a folder of several seeds is evaluated as one model,"
            " and seed by seed.",
        ),
    ],
    data: Annotated[Path, typer.Option(help="The store that the runs were trained on.")],
    marks: Annotated[list[Path] | None, typer.Option(help="Files with marks, used instead of the store's.")] = None,
    part: StorePart = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the report; by default the run folder or, for several runs, `report` next to them."
        ),
    ] = None,
    threshold: Threshold = 0.5,
    num_top: Annotated[
        int,
        typer.Option(
            "--top", min=1, help="Number of top-ranked sentences to keep or remove when measuring faithfulness."
        ),
    ] = 1,
    methods: Methods = None,
    num_resamples: Annotated[
        int, typer.Option("--resamples", min=0, help="Bootstrap resamples for the intervals; 0 for none.")
    ] = 1_000,
    temperature: Annotated[bool, typer.Option(help="Fit a temperature on validation, for calibration.")] = False,
    device: Device = "auto",
    quantize: Quantize = "none",
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Evaluate runs: facts against the KB, explanations against marks and the model; write an HTML report.

    Also writes a folder `predictions` to each run: every fact, its sentences and the scores of every mechanism.
    A folder of several seeds is evaluated as one model, and seed by seed.

    Example: `sayso evaluate runs/demo --data demo/store`
    """
    from sayso.evaluate.evaluation import EvaluationSettings, evaluate_and_keep
    from sayso.evaluate.report import make_report, write_report
    from sayso.explain import mechanisms_named
    from sayso.explain.trained_run import open_runs
    from sayso.io.folder import locked
    from sayso.model.ensemble import seed_folders
    from sayso.store.store import Store
    from sayso.train.device import choose_device

    mechanisms_named(methods)
    settings = settings_from(EvaluationSettings, locals())
    store = Store(data)
    folder = out or (runs[0] if len(runs) == 1 else runs[0].resolve().parent / "report")
    opened = list({each.resolve(): each for run in runs for each in (run, *seed_folders(run))}.values())
    subjects = open_runs(opened, store, part or store.default_part, str(choose_device(device)))
    if subjects[0].part_name == "train":
        note(f"{data}: evaluated on the training pairs; the model has seen their labels")
    found = _marks(store, subjects[0], marks or [])
    with ExitStack() as stack:
        # The predictions are written to the folders of the runs.
        for each in sorted({folder.resolve(), *(run.resolve() for run in opened)}):
            stack.enter_context(locked(each, "sayso evaluate"))
        with stages() as show:
            evaluated = [evaluate_and_keep(subject, found, settings, show) for subject in subjects]
            show("resampling", 0, 0)
            report = make_report(evaluated, found)
        written = write_report(report, folder)
    print_result(as_json, report.figures, lambda: _print(report.figures))
    pages = [path for path in written if path.suffix == ".html"]
    say_next(" and ".join(map(str, [written[0], *pages])), hint=f"open {pages[0]} in a browser" if pages else "")


def _marks(store: "Store", subject: "TrainedRun", paths: list[Path]) -> "SentenceMarks":
    from sayso.store.marks import marks_of_files, marks_of_store

    part, name = subject.part, subject.part_name
    marks = marks_of_files(paths, store, part.table, name) if paths else marks_of_store(store, name)
    if marks.report["num_unmatched"]:
        where = f"the {name} part" if paths else "the store"
        note(f"{marks.report['num_unmatched']:,} marks match no sentence of {where}:")
        for reason, num in marks.report["reasons"].items():
            note(f"  {num:,} times: {reason}")
        for line in marks.report["first_unmatched"][:_NUM_UNMATCHED_SHOWN]:
            note(f"  {line}")
    return marks


def _print(figures: dict[str, Any]) -> None:
    rows = [_extraction_row(run["run"], run["variant"], run["relations"]) for run in figures["runs"]]
    for row in figures["baselines"]:
        kind = "baseline" if row["reads_sentences"] else "no reading"
        rows.append(_extraction_row(row["baseline"], kind, row["relations"]))
    title = f"relations: {figures['num_facts']:,} facts in the KB, {figures['num_bags']:,} bags ({figures['part']})"
    columns = ["run", "variant", "AUC@0.4", "average precision", "best F1", "P@100", "P@200", "P@300"]
    print_table(title, columns, rows, num_text=2)
    for run in figures["runs"]:
        gain, over = run["reading_gain"], run["gain_over_logistic_regression"]
        say(f"{run['run']}: reading gain {_with_interval(gain)} (average precision minus that of {gain['baseline']})")
        say(f"{run['run']}: average precision minus that of {over['baseline']} {_with_interval(over)}")
        say(f"{run['run']}: {_about_calibration(run['calibration'])}")
        if run["quantization"]:
            cost = _with_interval(run["quantization"]["average_precision"], digits=4)
            say(f"{run['run']}: int8 changes average precision by {cost}")
    _print_taus(figures["runs"])
    for each in figures["comparisons"]:
        found = each["average_precision"]
        probability = "–" if found["p_value"] is None else f"{found['p_value']:.3f}"
        say(f"{each['first']} − {each['second']}: average precision {_with_interval(found)}, p = {probability}")


def _about_calibration(found: dict[str, Any]) -> str:
    errors = {key: _calibration_error(each) for key, each in found.items()}
    before = errors.get("before_calibration")
    change = f", {before} before calibration" if before else " (the model has no calibration)"
    return f"expected calibration error {errors['as_predicted']}{change}"


def _calibration_error(found: dict[str, Any]) -> str:
    interval = found["interval"] or {"low": None, "high": None}
    value = {"value": found["expected_calibration_error"], **interval}
    return _with_interval(value, digits=4)


def _extraction_row(name: str, kind: str, found: dict[str, Any]) -> list[object]:
    precisions = (found[f"precision_at_{num}"] for num in (100, 200, 300))
    return [name, kind, *(_with_interval(found[measure]) for measure in _INTERVALS), *precisions]


def _print_taus(runs: list[dict[str, Any]]) -> None:
    mechanisms = list(runs[0]["explanations"])
    rows: list[list[object]] = []
    for run in runs:
        for band in ("H", "L", "all"):
            taus = [run["explanations"][name]["tau"][band] for name in mechanisms]
            size = [taus[0]["num_tuples"], taus[0]["num_bags"]] if taus[0]["num_tuples"] else ["no tuples", 0]
            rows.append([run["run"], band, *size, *(tau["pooled"] for tau in taus)])
    print_table("explanations: Kendall τ against the marks", ["run", "on", "tuples", "bags", *mechanisms], rows, 2)


def _with_interval(found: dict[str, Any] | float | None, digits: int = 3) -> str:
    if not isinstance(found, dict):
        found = {"value": found, "low": None}
    if found["value"] is None:
        return "–"
    interval = "" if found["low"] is None else f" [{found['low']:.{digits}f}, {found['high']:.{digits}f}]"
    return f"{found['value']:.{digits}f}{interval}"
