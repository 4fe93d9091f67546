from collections.abc import Iterator

import pytest

from command import choices
from sayso.cli.options import EngineOptions
from sayso.cli.prepare import prepare
from sayso.engine import ENGINES, EngineSettings, local_engine, open_local
from sayso.engine.processes import num_cores
from sayso.errors import UserError


def test_shards_are_asked_for_one_at_a_time() -> None:
    asked = []

    def shards() -> Iterator[int]:
        for number in range(3):
            asked.append(number)
            yield number

    with open_local(EngineSettings(jobs=1)) as engine:
        for done, result in enumerate(engine(lambda number: number * 10, shards())):
            assert (result, asked[-1]) == (done * 10, done)


def test_the_command_line_offers_every_engine() -> None:
    assert choices(prepare, "engine") == list(ENGINES)


def test_jobs_are_processes_of_this_machine() -> None:
    assert local_engine(3).num == 3
    assert 1 <= local_engine().num <= num_cores()
    with pytest.raises(UserError, match="--jobs requires --engine local: for ray, use --workers"):
        EngineOptions(engine="ray", jobs=2).open()
