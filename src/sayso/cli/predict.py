"""`sayso predict`: predict the facts in a file of sentences; `sayso export`: write a model as an ONNX file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import about_length, note, print_json, print_result, print_table, say_next, stages
from sayso.cli.options import AsJson, Device, MaxBad, NoVerify, Quantize, Run, SentenceForm, TableMemory, Threshold
from sayso.errors import as_command
from sayso.io.atomic import atomic_file, refuse_unwritable_path
from sayso.readers.files import size_of
from sayso.readers.read import Tally, refuse_unknown_form
from sayso.readers.tables import read_entity_types
from sayso.records import OnProgress, Sentence

if TYPE_CHECKING:
    from sayso.facts.corpus_facts import CorpusFacts
    from sayso.store.block import SentenceBlock


def predict(
    run: Run,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Sentences: a file, a folder of shards, or a built corpus; - is stdin."),
    ],
    out: Annotated[Path | None, typer.Option(help="JSON lines file to write the facts to.")] = None,
    threshold: Threshold = 0.5,
    top: Annotated[int | None, typer.Option(min=1, help="Keep only this many facts, the most probable.")] = None,
    types: Annotated[Path | None, typer.Option(help="Types of entities that the model does not know.")] = None,
    form: SentenceForm = "auto",
    max_bad: MaxBad = 0.001,
    device: Device = "auto",
    quantize: Quantize = "none",
    table_memory: TableMemory = 512,
    jobs: Annotated[
        int,
        typer.Option(
            min=0, max=1_024, help="Threads that read and predict; 0: one per core. The result does not depend on it."
        ),
    ] = 0,
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Predict the facts in a file: sentences are grouped by pair, and each pair is predicted from all its sentences.

    Example: `sayso predict runs/demo demo/corpus/test.jsonl --out facts.jsonl --threshold 0.7`
    """
    from sayso.documents.corpus import types_of
    from sayso.library import load
    from sayso.model.predict import facts_of_corpus
    from sayso.train.device import use_threads

    refuse_unknown_form(form)
    if out is not None:
        refuse_unwritable_path(out)
    named = types_of(file, types)
    model = load(run, device, quantize)
    typed = read_entity_types(named, model.relations) if named else {}
    model.limit_table_memory(table_memory)
    num_threads = use_threads(jobs)
    tally = Tally(file, form)
    with stages() as show:
        facts = facts_of_corpus(model.parts, _sentences(tally, max_bad, show, num_threads), threshold, top, typed)
    _note_counts(facts, tally, threshold)
    if out is not None:
        with atomic_file(out) as lines:
            lines.writelines(json.dumps(fact.to_dict(), ensure_ascii=False) + "\n" for fact in facts)
        say_next(f"{out}: {len(facts):,} facts", as_command("less", out))
    if as_json:
        for fact in facts:
            print_json(fact.to_dict(), indent=None)
    elif out is None:
        marked = ((f, *f.marked_names) for f in facts)
        rows = [[head, f.relation, tail, f"{f.probability:.3f}", f.num_sentences] for f, head, tail in marked]
        columns = ["head", "relation", "tail", "probability", "sentences"]
        print_table(f"{model.variant}: {len(facts):,} facts", columns, rows, num_text=3)


def _sentences(
    tally: Tally, max_bad: float, show: OnProgress, num_threads: int
) -> "Iterator[Sentence | SentenceBlock]":
    from sayso.store.parallel import read_blocks

    path, size = tally.path, size_of(tally.path)
    yield from read_blocks(path, tally, None, lambda done: show(f"reading {path}", done, size), num_threads)
    tally.refuse_too_many_bad(max_bad)
    show("predicting", 0, 0)


def _note_counts(facts: "CorpusFacts", tally: Tally, threshold: float) -> None:
    num = f"{tally.num_good:,} sentences of {facts.num_pairs:,} pairs"
    note(f"{num}, {facts.num_repeated:,} repeated sentences left out")
    for line in about_length(facts.num_too_far_apart, facts.num_cut):
        note(line)
    if tally.num_bad:
        note(f"{tally.num_bad:,} bad lines left out (first: {tally.shown[0]})")
    if not len(facts) and facts.num_pairs:
        note(f"no fact reaches {threshold:g}; the most probable has {facts.highest:.3f}: try a lower --threshold")


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder or a model folder of one seed.")],
    out: Annotated[Path, typer.Option(help="ONNX file to write.")],
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Write a model as ONNX, for programs without torch, and check it against torch.

    The file maps token ids and bags to logits; docs/library.md documents its inputs. Needs the extra `onnx`.

    Example: `sayso export runs/demo --out demo.onnx`
    """
    from sayso.integrations.onnx import export_onnx
    from sayso.library import load

    refuse_unwritable_path(out)
    model = load(run)
    note("exporting; this takes a few seconds")
    error = export_onnx(model, out)
    record = {"variant": model.variant, "relations": len(model.relations), "largest_difference": error}
    text = f"{model.variant}: {len(model.relations):,} relations; largest difference from torch {error:.1e}"
    print_result(as_json, record, text)
    say_next(f"{out} ({out.stat().st_size:,} bytes)", hint="docs/library.md documents its inputs")
