from collections.abc import Iterator

from command import choices
from sayso.cli.prepare import prepare
from sayso.engine import ENGINES, EngineSettings, open_local


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
