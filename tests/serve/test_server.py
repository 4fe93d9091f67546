import asyncio
import logging
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from load import Load, in_a_loop, make_room, num_lost, put_load
from running import serving
from sayso.annotate.store import reading_from
from sayso.errors import UserError
from sayso.serve import server as connection
from sayso.serve.app import SafetyMiddleware
from sayso.serve.server import DeadlineProtocol, OncePerMinute, open_socket, run
from toy_extraction import NEW, ids, write_found
from toy_workbench import NUM_PAIRS, big_bag, fact_lines, make_store


def sign_in(url: str, name: str) -> httpx.Client:
    client = httpx.Client(base_url=url, follow_redirects=True)
    for address, form in (("/sign-in", None), ("/sign-in", {"name": name})):
        token = client.headers.get("X-Form-Token", "")
        page = client.post(address, data={**form, "form_token": token}) if form else client.get(address)
        client.headers["X-Form-Token"] = re.search(r'name="form-token" content="(\w+)"', page.text)[1]
    return client


def held_marks(database: Path) -> int:
    with reading_from(database) as connection:
        num: int = connection.execute("SELECT count(*) FROM entry WHERE kind = 'mark'").fetchone()[0]
    return num


@pytest.mark.slow
def test_kill_9_while_labelling_loses_at_most_the_key_being_pressed(tmp_path: Path) -> None:
    store = make_store(tmp_path, big_bag(500))
    confirmed: list[int] = []
    is_busy = threading.Event()

    def press_keys(url: str) -> None:
        with closing(sign_in(url, "Ada")) as client:
            for place in range(500):
                marks = [{"sentence": place, "label": "irrelevant"}]
                body = {"bag": NUM_PAIRS, "relation": "contains", "key": f"key number {place}", "marks": marks}
                try:
                    client.post("/api/annotate/marks", json=body).raise_for_status()
                except httpx.TransportError:
                    return
                confirmed.append(place)
                if len(confirmed) == 40:
                    is_busy.set()

    with serving(store.folder, tmp_path / "marks.db") as running:
        thread = threading.Thread(target=press_keys, args=(running.url,))
        thread.start()
        assert is_busy.wait(300)
        running.process.send_signal(signal.SIGKILL)
        thread.join()
    assert 40 <= len(confirmed) < 500
    assert held_marks(tmp_path / "marks.db") - len(confirmed) in (0, 1)
    with serving(store.folder, tmp_path / "marks.db") as again:
        assert httpx.get(f"{again.url}/api/progress").json()["people"][0]["num_marks"] >= len(confirmed)


@pytest.mark.slow
def test_ctrl_c_ends_it_with_130(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    with serving(store.folder, tmp_path / "marks.db") as running:
        assert httpx.get(f"{running.url}/sign-in").status_code == 200
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(300) == 130


@pytest.mark.slow
def test_half_a_request_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    with serving(store.folder, tmp_path / "marks.db") as running:
        host, port = urlsplit(running.url).netloc.split(":")
        with closing(socket.create_connection((host, int(port)), 60)) as half:
            half.sendall(b"POST /api/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{  ")
            assert httpx.get(f"{running.url}/sign-in").status_code == 200
            running.process.send_signal(signal.SIGTERM)
            assert half.recv(1000) == b""  # after the request deadline, the response would be 408
            assert running.process.wait(300) == 0


@pytest.mark.slow
def test_sigterm_ends_it_with_0_and_everything_confirmed_is_saved(tmp_path: Path) -> None:
    store = make_store(tmp_path, [line for pair in range(100, 200) for line in fact_lines(pair)])
    make_room(tmp_path / "marks.db")
    load = Load([], {})
    with serving(store.folder, tmp_path / "marks.db") as running, ThreadPoolExecutor(1) as pool:
        working = pool.submit(asyncio.run, put_load(running.url, 8, 800, load=load))
        while len(load.sent) < 100 and not working.done():
            time.sleep(0.01)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(10) == 0
        assert working.exception() is not None, "the annotators were working when it ended"
    assert 100 <= len(load.sent) < 800
    assert num_lost(tmp_path / "marks.db", load) == 0
    # The log was merged into the file when the database was closed.
    assert [path.name for path in tmp_path.glob("marks.db*")] == ["marks.db"]


def test_a_message_about_a_bad_request_is_not_written_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    logger, written = logging.getLogger("uvicorn.error"), list[str]()
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: written.append(record.getMessage()))
    for name in ("uvicorn.error", "asyncio"):
        monkeypatch.setattr(logging.getLogger(name), "filters", [])

    def receive_bad_requests(*_: object, **__: object) -> None:
        logger.addHandler(handler)
        for _number in range(300):
            logger.warning("Invalid HTTP request received.")
        logger.removeHandler(handler)

    monkeypatch.setattr(uvicorn.Server, "run", receive_bad_requests)
    with open_socket("127.0.0.1", 0) as opened:
        run(FastAPI(), opened)
    assert written == ["Invalid HTTP request received."]


@pytest.mark.slow
def test_the_process_never_loads_torch(tmp_path: Path) -> None:
    store, facts = make_store(tmp_path), write_found(tmp_path / "news", NEW)
    with serving(store.folder, tmp_path / "marks.db", "--port", 0, "--facts", facts) as running:
        with closing(sign_in(running.url, "Ada")) as client:
            fact = f"/review/news/fact?{urlencode(ids(NEW[0]))}"
            for address in ("/annotate", "/agreement", "/predictions", "/review", fact, "/decisions", "/try", "/api"):
                assert client.get(address).status_code == 200, address
        assert "libtorch" not in Path(f"/proc/{running.process.pid}/maps").read_text()


def test_an_address_of_another_machine_is_refused() -> None:
    opened = open_socket("127.0.0.1", 0)
    port = opened.getsockname()[1]
    with pytest.raises(UserError, match=f"port {port} on 127.0.0.1 is in use"):
        open_socket("127.0.0.1", port)
    opened.close()
    with pytest.raises(UserError, match="not an address of this machine"):
        open_socket("192.0.2.1", 0)


@pytest.mark.slow
def test_twenty_annotators_make_2000_marks_and_none_is_lost(tmp_path: Path) -> None:
    store = make_store(tmp_path, [line for pair in range(100, 300) for line in fact_lines(pair)])
    make_room(tmp_path / "marks.db")
    with serving(store.folder, tmp_path / "marks.db") as running:
        load = in_a_loop(put_load(running.url, 20, 2_000))
    assert len(load.sent) == 2_000
    assert num_lost(tmp_path / "marks.db", load) == 0
    assert held_marks(tmp_path / "marks.db") == 2_000


async def load_both(one: str, two: str) -> list[Load]:
    """Send marks to two workbenches at once, from different annotators; return what was sent."""
    return await asyncio.gather(put_load(one, 2, 20, "Ada"), put_load(two, 2, 20, "Ben"))


@pytest.mark.slow
def test_two_workbenches_share_a_database(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    make_room(tmp_path / "marks.db")
    with serving(store.folder, tmp_path / "marks.db") as one, serving(store.folder, tmp_path / "marks.db") as two:
        loads = in_a_loop(load_both(one.url, two.url))
    assert [len(load.sent) for load in loads] == [20, 20]
    assert [num_lost(tmp_path / "marks.db", load) for load in loads] == [0, 0]
    # An annotator's first two labels on each other's sentences would count as two losses.
    first, second = [place for place in loads[0].sent if place[0] == "Ada 0"][:2]
    swapped = loads[0].sent | {first: loads[0].sent[second], second: loads[0].sent[first]}
    assert num_lost(tmp_path / "marks.db", loads[0]._replace(sent=swapped)) == 2


HALF_A_HEADER = b"GET / HTTP/1.1\r\nHost: 127"
HALF_A_BODY = b"POST /api/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\ndecision=accepted"

Served = tuple[tuple[str, int], list[bytes]]


class Hasty(DeadlineProtocol):
    """Closes connections after a short deadline."""

    request_seconds = 0.2


@pytest.fixture
def served() -> Iterator[Served]:
    """The URL of a small application behind the middleware, and the request bodies it received."""
    bodies: list[bytes] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            bodies.append((await receive())["body"])
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"here"})

    opened = open_socket("127.0.0.1", 0)
    gate = SafetyMiddleware(app, max_body=1_000_000)
    server = uvicorn.Server(uvicorn.Config(gate, http=Hasty, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    yield opened.getsockname(), bodies
    server.should_exit = True
    thread.join()


def get(address: tuple[str, int]) -> str:
    return httpx.get(f"http://127.0.0.1:{address[1]}/", timeout=60).text


@pytest.mark.parametrize("sent", [HALF_A_HEADER, HALF_A_BODY])
def test_half_a_request_ends_at_the_deadline_and_does_nothing(served: Served, sent: bytes) -> None:
    address, bodies = served
    with closing(socket.create_connection(address, 60)) as half:
        half.sendall(sent)
        assert half.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert half.recv(1000) == b""
    assert get(address) == "here"
    assert bodies == [b""]


def test_a_truncated_body_is_refused(served: Served) -> None:
    address, bodies = served
    with closing(socket.create_connection(address, 60)) as half:
        half.sendall(HALF_A_BODY)
    assert get(address) == "here"
    assert bodies == [b""]


def test_a_connection_without_a_request_is_closed_and_a_kept_alive_one_stays_open(served: Served) -> None:
    address, _ = served
    with closing(socket.create_connection(address, 60)) as silent:
        assert silent.recv(1000) == b""
    with httpx.Client(base_url=f"http://127.0.0.1:{address[1]}") as client:
        assert [client.get("/").text for _ in range(3)] == ["here"] * 3


def test_many_open_connections_lock_nobody_out(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _ = served
    monkeypatch.setattr(connection, "max_connections", lambda: 4)
    monkeypatch.setattr(Hasty, "request_seconds", 600.0)
    halves = [socket.create_connection(address, 60) for _ in range(20)]
    assert get(address) == "here"
    assert [half.recv(1) for half in halves[:16]] == [b""] * 16, "of 21 the oldest 17 were ended"
    for half in halves:
        half.close()


def test_a_message_is_written_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(connection.time, "monotonic", lambda: now)
    seldom, bad, other = OncePerMinute(), *(logging.makeLogRecord({"msg": text}) for text in ("bad request", "other"))
    assert [seldom.filter(each) for each in (bad, bad, other, bad)] == [True, False, True, False]
    now = 61.0
    assert seldom.filter(bad)
