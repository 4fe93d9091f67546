"""Change one byte of one file at a time in everything that sayso reads back, and see what happens.

    python tests/flip_bytes.py --flips 2000 --seed 1

makes a small store, model, run, predictions, extraction, built corpus and reproduction, changes one random byte in a
copy and reads the copy in a child process. Each change is either refused in one line or does not matter (the result is
the same); a traceback, a crash and a silently different result are faults, and end the script with exit code 1.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch

from extract.toy_corpus import EVERYTHING, sentences, write
from reproduce.toy_results import make_result
from sayso.documents.build import build, identity_of
from sayso.documents.corpus import corpus_folder, read_records
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.errors import UserError
from sayso.evaluate.evaluation import EvaluationSettings, evaluate_run, prediction_columns
from sayso.explain.trained_run import open_runs
from sayso.extract.folder import read_types
from sayso.extract.gather import gathered_lines, spans_of_shard
from sayso.extract.run import extract
from sayso.extract.settings import ExtractInputs
from sayso.facts.file import read_extracted
from sayso.model.checkpoint import load_model
from sayso.model.extractor import Extractor
from sayso.reproduce.folder import ReproductionFolder, read_result, write_result
from sayso.store.marks import marks_of_store
from sayso.store.predictions import IN_RUN, Predictions, write_predictions
from sayso.store.rows import Rows
from sayso.store.store import Store
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.folder import read_metrics
from sayso.train.run import identity_of as run_identity
from sayso.train.state import load_state
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config

REFUSED, SAME, TRACEBACK, CRASH, DIFFERENT = (
    "refused in one line",
    "does not matter",
    "traceback",
    "crash",
    "silently different",
)
FAULTS = (TRACEBACK, CRASH, DIFFERENT)
_SECONDS = 60
Read = TypeVar("Read")


class Outcome(NamedTuple):
    """The outcome of one changed byte: in which file, and how reading it ended."""

    kind: str
    file: str
    place: int
    result: str
    text: str = ""


class World:
    """One folder of each kind, and for each kind a function that reads all of it and returns something comparable."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store, made = folder, folder / "store", folder / "made"
        self.inputs = BuildInputs(documents=made / "docs.jsonl", kb=made / "kb.tsv", names=made / "names.tsv")
        self.readers: dict[str, Callable[[Path], object]] = {
            "store": read_store,
            "model": read_model,
            "predictions": read_predictions,
            "run": self._read_run,
            "extraction": self._read_extraction,
            "facts": lambda path: [fact.to_dict() for fact in read_extracted(path / "facts.jsonl")],
            "corpus": self._read_corpus,
            "reproduction": read_reproduction,
        }

    def make(self) -> None:
        """Make the folders."""
        folder = self.folder
        (folder / "made").mkdir()
        shutil.move(make_marked_store(folder / "made"), self.store)
        make_run(toy_config(mentions="type_and_words", use_entities=True), self.store, folder / "run")
        shutil.copytree(folder / "run" / "model", folder / "model")
        self._predict()
        self._extract("new")
        self._build()
        (folder / "reproduction" / "outcomes").mkdir(parents=True)
        write_result(folder / "reproduction" / "outcomes" / "x.json", make_result("CNNs+ATT", 1))
        ReproductionFolder(folder / "reproduction").note_call(3, 2, 1.0)

    def files(self) -> list[tuple[str, Path]]:
        """Return (kind, file) of every file that is read back."""
        patterns = {
            "store": ("*",),
            "model": ("config.json", "*.arrow", "*.safetensors"),
            "predictions": ("*",),
            "run": ("config.toml", "metrics.jsonl", "state.safetensors"),
            "extraction": ("manifest.json", "gathered/*", "shards/*", "types/*"),
            "facts": ("facts.jsonl", "manifest.json"),
            "corpus": ("manifest.json", "shards/*"),
            "reproduction": ("outcomes/*", "calls.jsonl"),
        }
        return [
            (kind, file)
            for kind, names in patterns.items()
            for name in names
            for file in sorted((self.folder / kind).glob(name))
            if file.stat().st_size
        ]

    def _predict(self) -> None:
        shutil.copytree(self.folder / "run", self.folder / "evaluated")
        store = Store(self.store)
        (subject,) = open_runs([self.folder / "evaluated"], store, "test")
        settings = EvaluationSettings(methods=("attention",), num_resamples=0)
        evaluated = evaluate_run(subject, marks_of_store(store, "test"), settings)
        write_predictions(self.folder / "predictions", prediction_columns(evaluated))
        assert IN_RUN == "predictions"

    def _extract(self, mode: str, out: Path | None = None) -> list[dict[str, object]]:
        corpus, types = self.folder / "made" / "corpus.jsonl", self.folder / "made" / "kinds.json"
        if mode == "new":
            write(corpus, sentences(range(2)))
            types.write_text('{"l0": ["/location/country"]}')
        inputs = ExtractInputs(run=self.folder / "evaluated", corpus=corpus, types=types)
        found = extract(inputs, EVERYTHING, out or self.folder / "extraction", mode)  # type: ignore[arg-type]
        if mode == "new":
            (self.folder / "facts").mkdir()
            for name in ("facts.jsonl", "manifest.json"):
                shutil.copy(self.folder / "extraction" / name, self.folder / "facts")
        return [fact.to_dict() for fact in found]

    def _read_extraction(self, path: Path) -> object:
        # What prediction would read is read here: predicting itself takes too long to be done thousands of times.
        shards = [spans_of_shard(path, range(1), shard) for shard in range(EVERYTHING.num_shards)]
        return self._extract("resume", path), [list(gathered_lines(each)) for each in shards], read_types(path, 1)

    def _build(self) -> None:
        made = self.folder / "made"
        (made / "kb.tsv").write_text("ana\t/born\trome\nbo\t/lived\toslo\n")
        (made / "names.tsv").write_text("ana\tAna Diaz\nbo\tBo Holt\nrome\tRome\noslo\tOslo\n")
        (made / "docs.jsonl").write_text('{"id": "one", "text": "Ana Diaz was born in Rome. Bo Holt left Oslo."}\n')
        build(self.inputs, BuildSettings(), self.folder / "corpus", lambda *_: None)

    def _read_corpus(self, path: Path) -> object:
        with corpus_folder(path, "append", identity_of(self.inputs, BuildSettings())):
            return read_records(path)

    def _read_run(self, path: Path) -> object:
        config, store = load_config(path / "config.toml"), Store(self.store)
        extractor = Extractor(config.model, RunData(store, config).tables(), config.seed)
        optimizer = torch.optim.Adam(extractor.parameters())
        standing, best = load_state(path / "state.safetensors", extractor, optimizer, run_identity(config, store))
        moments = [value for state in optimizer.state.values() for value in state.values()]
        tensors = [*extractor.state_dict().values(), *best.values(), *moments]
        return asdict(standing), [value.tolist() for value in tensors], read_metrics(path)


def read_store(path: Path) -> object:
    """Return the whole content of a store."""
    store = Store(path)
    parts = [store.part(name) for name in store.parts]
    columns = [getattr(part, field.name) for part in parts for field in fields(part)]
    flat = [array for column in columns for array in (column if isinstance(column, Rows) else (column,))]
    arrays = [store.word_count, store.vector_VD, *flat]
    tables = [{name: column.to_pylist() for name, column in each.items()} for each in (store.entities, store.marks)]
    bags = [store.bag(part, 0) for part in parts if part.num_bags]
    return (
        store.manifest,
        store.types,
        store.relations,
        store.words.to_pylist(),
        tables,
        bags,
        [str(a.tolist()) for a in arrays],
    )


def read_model(path: Path) -> object:
    """Return the whole content of a model."""
    parts, lexicon = load_model(path), load_model(path).lexicon
    weights = {name: value.tolist() for name, value in parts.extractor.state_dict().items()}
    named = (lexicon.words, lexicon.entity_ids, lexicon.entity_names, lexicon.type_E.tolist(), lexicon.types)
    rest = (lexicon.form, lexicon.mentions, lexicon.max_tokens, parts.relations, parts.variant, parts.training)
    return weights, named, rest


def read_predictions(path: Path) -> object:
    """Return the whole content of stored predictions."""
    found = Predictions(path)
    tables = (found.facts, found.evidence, found.words)
    return found.manifest, [{name: column.to_pylist() for name, column in table.items()} for table in tables]


def read_reproduction(path: Path) -> object:
    """Return a run's outcome and the recorded calls."""
    return read_result(path / "outcomes" / "x.json"), ReproductionFolder(path).calls()


def in_child(read: Callable[[], object]) -> tuple[str, str]:
    """Return how reading ended in a child process: its result's digest or its error, even if the child crashes."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        os.close(reader)
        _end_child(writer, read)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) or not data:
        return CRASH, f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {status}"
    result, text = json.loads(data)
    return result, text


def _end_child(writer: int, read: Callable[[], object]) -> None:
    """Read and report the outcome; never returns."""
    signal.alarm(_SECONDS)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        found = SAME, hashlib.sha256(repr(read()).encode()).hexdigest()
    except UserError as error:
        found = (TRACEBACK if "\n" in str(error) else REFUSED), str(error)
    except BaseException as error:  # noqa: BLE001 a script that counts faults
        found = TRACEBACK, f"{type(error).__name__}: {error}"[:300]
    os.write(writer, json.dumps(found).encode()[:60_000])
    os._exit(0)


def flip(world: World, num: int, seed: int) -> list[Outcome]:
    """Return the outcomes of this many changed bytes, each in its own copy."""
    # In a child, too: a process whose libraries have started threads cannot be forked.
    assert in_child(world.make)[0] == SAME
    draw, files = random.Random(seed), world.files()
    for kind in world.readers:
        _copied(world, kind, world.readers[kind])  # what is imported now is not imported by every child again
    expected = {kind: _read_copy(world, kind) for kind in world.readers}
    for kind, (result, text) in expected.items():
        assert result == SAME, f"{kind} cannot be read: {text}"
    outcomes = []
    for _ in range(num):
        kind, file = draw.choice(files)
        place, change = draw.randrange(file.stat().st_size), draw.randrange(1, 256)
        result, text = _read_copy(world, kind, file, place, change)
        if result == SAME and text != expected[kind][1]:
            result = DIFFERENT
        shown = str(file.relative_to(world.folder))
        outcomes.append(Outcome(kind, shown, place, result, "" if result == SAME else text))
    return outcomes


def _read_copy(world: World, kind: str, file: Path | None = None, place: int = 0, change: int = 0) -> tuple[str, str]:
    """Return how reading a copy ended after a byte of the file, if one is named, was changed."""

    def read(copy: Path) -> tuple[str, str]:
        if file is not None:
            target = copy / file.relative_to(world.folder / kind)
            data = bytearray(target.read_bytes())
            data[place] ^= change
            target.write_bytes(data)
        return in_child(lambda: world.readers[kind](copy))

    return _copied(world, kind, read)


def _copied(world: World, kind: str, read: Callable[[Path], Read]) -> Read:
    with tempfile.TemporaryDirectory(prefix="sayso-flip-") as name:
        copy = Path(name) / kind
        shutil.copytree(world.folder / kind, copy, ignore=shutil.ignore_patterns("tensorboard"))
        return read(copy)


def main() -> None:
    """Make the folders, change bytes, and count the outcomes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--flips", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="sayso-flips-") as name:
        outcomes = flip(World(Path(name)), asked.flips, asked.seed)
    results = (REFUSED, SAME, *FAULTS)
    counts = Counter((each.kind, each.result) for each in outcomes)
    print(f"{'':14}" + "".join(f"{result:>21}" for result in results))
    for kind in [*dict.fromkeys(each.kind for each in sorted(outcomes))]:
        print(f"{kind:14}" + "".join(f"{counts[kind, result]:>21,}" for result in results))
    print(f"{'all':14}" + "".join(f"{sum(each.result == result for each in outcomes):>21,}" for result in results))
    faults = [each for each in outcomes if each.result in FAULTS]
    for each in faults:
        print(f"{each.file} byte {each.place}: {each.result} {each.text}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
