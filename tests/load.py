"""Many annotators at once, each of whom sends the next mark as soon as the last is saved."""

import asyncio
import re
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx

from sayso.annotate.queue import QueueSettings, write_settings
from sayso.annotate.store import reading_from, writing_to

T = TypeVar("T")
LABELS = ("rationale", "irrelevant", "unsure")


class Load(NamedTuple):
    """How many seconds each mark took, and the labels that were sent, by person, head, relation, tail and sentence."""

    seconds: list[float]
    sent: dict[tuple[str, str, str, str, str], str]


def make_room(database: Path) -> None:
    """Make the database of a workbench in which everyone gets every fact, in random order."""
    with writing_to(database) as connection:
        write_settings(connection, QueueSettings(annotators_per_fact=20, order="random"))


async def put_load(
    url: str, num_people: int, num_marks: int, name: str = "annotator", load: Load | None = None
) -> Load:
    """Let annotators with this name prefix make marks at the same time; return what was sent and how long it took.

    A given `load` grows with every mark that the workbench has confirmed.
    """
    load = Load([], {}) if load is None else load
    async with asyncio.TaskGroup() as group:
        for number in range(num_people):
            group.create_task(_work(url, f"{name} {number}", num_marks // num_people, load))
    return load


async def _work(url: str, name: str, num_marks: int, load: Load) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60, follow_redirects=True) as client:
        token = _token(await client.get("/sign-in"))
        client.headers["X-Form-Token"] = _token(await client.post("/sign-in", data={"name": name, "form_token": token}))
        fact, num_sent = None, 0
        while num_sent < num_marks:
            fact = (await client.post("/api/annotate/next", json=fact)).json()["fact"]
            shown = (await client.get("/api/annotate/fact", params=fact)).json()
            for place, sentence in enumerate(shown["sentences"][: num_marks - num_sent]):
                label = LABELS[num_sent % 3]
                load.seconds.append(await _mark(client, fact, place, label))
                text = " ".join(sentence["tokens"])
                load.sent[name, shown["head_id"], fact["relation"], shown["tail_id"], text] = label
                num_sent += 1


async def _mark(client: httpx.AsyncClient, fact: dict[str, Any], place: int, label: str) -> float:
    key = f"{fact['bag']} {place} {fact['relation']}"[:60].ljust(8)
    began = time.perf_counter()
    marks = [{"sentence": place, "label": label}]
    answer = await client.post("/api/annotate/marks", json={**fact, "key": key, "marks": marks})
    seconds = time.perf_counter() - began
    answer.raise_for_status()
    return seconds


def _token(answer: httpx.Response) -> str:
    found = re.search(r'name="form-token" content="(\w+)"', answer.text)
    assert found, answer.text
    return found[1]


def num_lost(database: Path, load: Load) -> int:
    """Return how many of the sent marks are missing from the database, or differ."""
    with reading_from(database) as connection:
        rows = connection.execute(
            "SELECT name, head_id, relation, tail_id, text, value FROM entry JOIN annotator ON annotator.id = owner"
            " JOIN fact ON fact.id = fact JOIN sentence ON sentence.id = sentence WHERE kind = 'mark'"
        ).fetchall()
    return len({(*place, label) for place, label in load.sent.items()} - set(map(tuple, rows)))


def in_a_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine; a thread of its own has no event loop yet, unlike one that drives a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
