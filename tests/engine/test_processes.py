"""Processes of this machine: every shard once, in spite of errors, kills and interruptions."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso.documents import build as building
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.engine import EngineSettings, LocalEngine, open_local, worth_processes
from sayso.engine.processes import in_processes, num_cores
from sayso.errors import BadInputError, UserError
from sayso.extract import run as extraction
from sayso.extract.settings import ExtractInputs, ExtractSettings
from sayso.invent.raw import invent_raw
from sayso.invent.settings import InventSettings
from sayso.store import inputs as preparing
from sayso.store import parallel
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from toy_run import make_run, make_store, toy_config
from toy_work import AlwaysDying, DyingOnce, Failing, Sleeping, Telling, Threads, Work


def test_every_shard_is_done_once_by_as_many_processes_as_asked_for(tmp_path: Path) -> None:
    asked: list[int] = []

    def shards() -> Iterator[int]:
        for number in range(8):
            asked.append(number)
            yield number

    found = []
    for result in in_processes(Work(tmp_path), shards(), 2):
        found.append(result)
        assert len(asked) <= len(found) + 2, "a shard is requested when a process is free"
    assert sorted(found) == [number**2 for number in range(8)]
    done = [path.name.split(".") for path in tmp_path.iterdir()]
    assert len(done) == 8
    assert len({process for _, process in done}) <= 2


def test_no_more_processes_than_shards(tmp_path: Path) -> None:
    assert list(in_processes(Work(tmp_path), [5], 64)) == [25]
    assert list(in_processes(Work(tmp_path), [], 2)) == []


def test_a_process_has_its_share_of_the_cores(tmp_path: Path) -> None:
    assert next(in_processes(Threads(tmp_path), [0], 1)) == str(num_cores())
    assert next(in_processes(Threads(tmp_path), [0], 4 * num_cores())) == "1"


def test_events_and_warnings_reach_the_caller(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []
    assert list(in_processes(Telling(tmp_path), [1], 1, str, events.append)) == [1]
    assert events == [("half", 1)]
    assert caplog.messages == ["seen 1"]


def test_the_shard_of_a_killed_process_is_done_again(tmp_path: Path) -> None:
    found = sorted(in_processes(DyingOnce(tmp_path), range(6), 2))
    assert found == [number**2 for number in range(6)]
    assert len(list(tmp_path.glob("3.*"))) == 2


def test_a_shard_that_kills_every_process_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"shard 7: its process was killed 3 times \(out of memory\?\)") as caught:
        list(in_processes(AlwaysDying(tmp_path), [7], 2, lambda number: f"shard {number}"))
    assert "try fewer --jobs" in caught.value.on_command_line()


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (1, BadInputError, r"^lines\.jsonl:7: not JSON$"),
        (2, UserError, r"pip install 'sayso\[draw\]'"),
        (3, OSError, "No space left on device: 'facts'"),
        (4, UserError, "a process is out of memory"),
        (5, ZeroDivisionError, "shard 5"),
    ],
)
def test_errors_are_raised_here(tmp_path: Path, number: int, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        list(in_processes(Failing(tmp_path), [number], 1))
    if kind is ZeroDivisionError:
        assert "toy_work.py" in caught.value.__notes__[0], "with the traceback of the process"


def test_leaving_early_stops_the_processes_which_clean_up(tmp_path: Path) -> None:
    results = in_processes(Sleeping(tmp_path), range(2), 2)

    def interrupted() -> None:
        while len(list(tmp_path.glob("*.*"))) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    interrupt = threading.Thread(target=interrupted)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        list(results)
    interrupt.join()
    assert (tmp_path / "cleaned").exists()
    for path in tmp_path.glob("*.*"):
        assert not Path(f"/proc/{path.suffix[1:]}").exists()


KILLED = """
import sys
from pathlib import Path
from sayso.engine.processes import in_processes
from engine.test_processes import Sleeping
list(in_processes(Sleeping(Path(sys.argv[1])), range(2), 2))
"""


def test_the_processes_of_a_killed_command_end(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    script = tmp_path / "script"
    script.write_text(KILLED)  # the processes would run it too if they imported the main program
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment)
    while len(found := list(tmp_path.glob("*.*"))) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{path.suffix[1:]}").exists() for path in found):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_little_work_starts_no_processes(tmp_path: Path) -> None:
    with open_local(EngineSettings(jobs=2)) as engine:
        assert worth_processes(engine, 999, least=1_000) is map
        assert worth_processes(engine, 1_000, least=1_000) is engine
    with open_local(EngineSettings(jobs=1)) as engine:
        assert list(engine(lambda number: number * 10, [1, 2])) == [10, 20], "the function is not pickled"


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow(20)
def test_a_corpus_a_store_and_facts_are_the_same_for_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invent_raw(tmp_path / "raw", InventSettings(train_sentences=300, test_sentences=100, documents=40))
    tables = {"kb": "kb.tsv", "names": "names.tsv", "types": "types.json", "relations": "relations.tsv"}
    inputs = BuildInputs(
        documents=tmp_path / "raw" / "documents.jsonl",
        **{name: tmp_path / "raw" / file for name, file in tables.items()},  # type: ignore[arg-type]
    )
    monkeypatch.setattr(building, "SHARD_DOCUMENTS", 80)
    monkeypatch.setattr(parallel, "PIECE_BYTES", 20_000)
    for module in (building, extraction):
        monkeypatch.setattr(module, "_LEAST_BYTES", 0)
    monkeypatch.setattr(preparing, "LEAST_BYTES", 0)
    run = make_run(toy_config("type_and_words"), make_store(tmp_path), tmp_path / "run")
    for num in (1, 2):
        engine, out = LocalEngine(num), tmp_path / str(num)
        building.build(inputs, BuildSettings(), out / "corpus", lambda *_: None, engine=engine)
        corpus = tmp_path / "1" / "corpus"
        prepare(Inputs(train=corpus), PrepareSettings(), out / "store", lambda *_: None, engine=engine)
        settings = ExtractSettings(threshold=0.0, num_shards=4, piece_bytes=30_000)
        extraction.extract(ExtractInputs(run=run, corpus=corpus), settings, out / "facts", engine=engine)
    assert len(list((tmp_path / "1" / "corpus" / "train").iterdir())) > 2
    assert len(list((tmp_path / "1" / "facts" / "gathered").glob("*.lines"))) > 2
    for name in ("corpus", "store", "facts"):
        assert files_of(tmp_path / "1" / name) == files_of(tmp_path / "2" / name), name
