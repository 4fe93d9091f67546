import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path

import pytest

from sayso.errors import UserError
from sayso.serve.try_it.process import ANSWER_SECONDS, MAX_WAITING, Worker, WorkerError

# A real process that follows the worker's protocol and behaves as told.
PROGRAM = """
import json, os, sys, time
print(json.dumps({"ready": "yes"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["do"] == "die":
        print("out of memory", file=sys.stderr)
        os._exit(3)
    if asked["do"] == "wait":  # reports that it waits, and continues when told to
        open(asked["door"] + ".knocked", "w").close()
        while not os.path.exists(asked["door"]):
            time.sleep(0.01)
    if asked["do"] == "refuse":
        print(json.dumps({"error": "no such name"}), flush=True)
    else:
        print(json.dumps({"answer": {"pid": os.getpid(), "long": "x" * asked.get("size", 0)}}), flush=True)
"""


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker([sys.executable, "-c", PROGRAM])
    yield started
    started.close()


def test_the_process_starts_with_the_first_question_and_keeps_running(worker: Worker) -> None:
    assert not worker.is_running
    first = worker.ask({"do": "answer"})
    assert worker.is_running
    assert worker.ask({"do": "answer"})["pid"] == first["pid"]


def test_an_answer_may_be_long(worker: Worker) -> None:
    assert len(worker.ask({"do": "answer", "size": 3_000_000})["long"]) == 3_000_000


def test_a_refused_question_is_a_user_error_and_the_process_keeps_running(worker: Worker) -> None:
    pid = worker.ask({"do": "answer"})["pid"]
    with pytest.raises(UserError, match="no such name"):
        worker.ask({"do": "refuse"})
    assert worker.ask({"do": "answer"})["pid"] == pid


def test_a_process_that_dies_is_reported_and_restarted(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    pid = worker.ask({"do": "answer"})["pid"]
    with pytest.raises(WorkerError, match="ended without an answer"):
        worker.ask({"do": "die"})
    assert "out of memory" in caplog.text
    assert not worker.is_running
    assert worker.ask({"do": "answer"})["pid"] != pid


def test_a_process_that_ended_between_two_questions_is_restarted(worker: Worker) -> None:
    pid = worker.ask({"do": "answer"})["pid"]
    assert worker._process
    worker._process.kill()
    worker._process.wait()
    assert worker.ask({"do": "answer"})["pid"] != pid


def test_one_that_takes_too_long_is_stopped(worker: Worker, tmp_path: Path) -> None:
    worker.ask({"do": "answer"})
    process = worker._process
    worker._answer_seconds = 0.2
    with pytest.raises(WorkerError, match=r"more than 0\.2 seconds to answer and was stopped"):
        worker.ask({"do": "wait", "door": str(tmp_path / "closed")})
    assert process
    assert process.poll() is not None
    worker._answer_seconds = ANSWER_SECONDS
    assert worker.ask({"do": "answer"})


def test_only_a_few_may_wait_at_a_time(worker: Worker, tmp_path: Path) -> None:
    door = tmp_path / "door"
    with ThreadPoolExecutor(MAX_WAITING + 3) as pool:
        asked = [pool.submit(worker.ask, {"do": "wait", "door": str(door)}) for _ in range(MAX_WAITING + 3)]
        faults = [str(each.exception()) for each in islice(as_completed(asked, 60), 3)]
        door.touch()
    assert all("busy" in fault for fault in faults)
    assert sum(each.exception() is None for each in asked) == MAX_WAITING


def test_closing_during_an_answer_is_reported(worker: Worker, tmp_path: Path) -> None:
    door, knocked = tmp_path / "door", tmp_path / "door.knocked"
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(worker.ask, {"do": "wait", "door": str(door)})
        while not knocked.exists() and not asked.done():
            time.sleep(0.01)
        worker.close()
    assert isinstance(asked.exception(), WorkerError)


def test_a_program_that_cannot_load_says_why() -> None:
    broken = Worker([sys.executable, "-c", """print('{"error": "no model here"}')"""])
    with pytest.raises(WorkerError, match="no model here"):
        broken.ask({})


def test_the_process_ends_when_its_parent_does(worker: Worker) -> None:
    worker.ask({"do": "answer"})
    process = worker._process
    assert process
    assert process.stdin
    process.stdin.close()
    assert process.wait(60) == 0
