import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from sayso.serve import connection
from sayso.serve.connection import Connection, Seldom
from sayso.serve.security import Gate
from sayso.serve.server import open_socket
from sayso.serve.settings import ServeSettings

HALF_A_HEADER = b"GET / HTTP/1.1\r\nHost: 127"
HALF_A_BODY = b"POST /api/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\ndecision=accepted"

Served = tuple[tuple[str, int], list[bytes]]


class Hasty(Connection):
    """Gives a request little time."""

    request_seconds = 0.2


@pytest.fixture
def served() -> Iterator[Served]:
    """Where a small application listens behind the gate, and the bodies that it has had."""
    bodies: list[bytes] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            bodies.append((await receive())["body"])
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"here"})

    opened = open_socket("127.0.0.1", 0)
    gate = Gate(app, ServeSettings(data=Path(), database=Path()))
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


def test_a_body_that_ends_early_is_not_taken_for_a_whole_one(served: Served) -> None:
    address, bodies = served
    with closing(socket.create_connection(address, 60)) as half:
        half.sendall(HALF_A_BODY)
    assert get(address) == "here"
    assert bodies == [b""]


def test_a_connection_without_a_request_ends_and_one_that_is_kept_alive_goes_on(served: Served) -> None:
    address, _ = served
    with closing(socket.create_connection(address, 60)) as silent:
        assert silent.recv(1000) == b""
    with httpx.Client(base_url=f"http://127.0.0.1:{address[1]}") as client:
        assert [client.get("/").text for _ in range(3)] == ["here"] * 3


def test_whoever_opens_many_connections_shuts_nobody_out(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _ = served
    monkeypatch.setattr(connection, "max_connections", lambda: 4)
    monkeypatch.setattr(Hasty, "request_seconds", 600.0)
    halves = [socket.create_connection(address, 60) for _ in range(20)]
    assert get(address) == "here"
    for half in halves:
        half.close()


def test_a_message_is_written_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(connection.time, "monotonic", lambda: now)
    seldom, bad, other = Seldom(), *(logging.makeLogRecord({"msg": text}) for text in ("bad request", "other"))
    assert [seldom.filter(each) for each in (bad, bad, other, bad)] == [True, False, True, False]
    now = 61.0
    assert seldom.filter(bad)
