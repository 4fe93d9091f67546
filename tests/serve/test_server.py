"""The workbench as a running process: what it survives, and what it does not lose."""

import asyncio
import re
import signal
import socket
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from load import Load, make_room, num_lost, put_load
from running import serving
from sayso.annotate.store import reading_from
from sayso.errors import UserError
from sayso.serve.server import open_socket
from toy_found import NEW, ids, write_found
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
            assert half.recv(1000) == b""  # after the deadline for requests it would be an answer, 408
            assert running.process.wait(300) == 143


@pytest.mark.slow
def test_the_process_never_loads_torch(tmp_path: Path) -> None:
    store, facts = make_store(tmp_path), write_found(tmp_path / "news", NEW)
    with serving(store.folder, tmp_path / "marks.db", "--port", 0, "--facts", facts) as running:
        with closing(sign_in(running.url, "Ada")) as client:
            fact = f"/found/news/fact?{urlencode(ids(NEW[0]))}"
            for address in ("/annotate", "/agree", "/facts", "/found", fact, "/curate", "/try", "/api"):
                assert client.get(address).status_code == 200, address
        assert "libtorch" not in Path(f"/proc/{running.process.pid}/maps").read_text()


def test_an_address_that_cannot_be_had_is_said_clearly() -> None:
    opened = open_socket("127.0.0.1", 0)
    port = opened.getsockname()[1]
    with pytest.raises(UserError, match=f"port {port} of 127.0.0.1 is in use"):
        open_socket("127.0.0.1", port)
    opened.close()
    with pytest.raises(UserError, match="cannot be used as an address"):
        open_socket("192.0.2.1", 0)


@pytest.mark.slow
def test_twenty_annotators_make_2000_marks_and_none_is_lost(tmp_path: Path) -> None:
    store = make_store(tmp_path, [line for pair in range(100, 300) for line in fact_lines(pair)])
    make_room(tmp_path / "marks.db")
    with serving(store.folder, tmp_path / "marks.db") as running:
        load = asyncio.run(put_load(running.url, 20, 2_000))
    assert len(load.sent) == 2_000
    assert num_lost(tmp_path / "marks.db", load) == 0
    assert held_marks(tmp_path / "marks.db") == 2_000


async def load_both(one: str, two: str) -> list[Load]:
    """Return what was sent to two workbenches at once, by other people each."""
    return await asyncio.gather(put_load(one, 2, 20, "Ada"), put_load(two, 2, 20, "Ben"))


@pytest.mark.slow
def test_two_workbenches_share_a_database(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    make_room(tmp_path / "marks.db")
    with serving(store.folder, tmp_path / "marks.db") as one, serving(store.folder, tmp_path / "marks.db") as two:
        loads = asyncio.run(load_both(one.url, two.url))
    assert [len(load.sent) for load in loads] == [20, 20]
    assert [num_lost(tmp_path / "marks.db", load) for load in loads] == [0, 0]
    # One person's first two labels, each on the sentence of the other, would be two losses.
    first, second = [place for place in loads[0].sent if place[0] == "Ada 0"][:2]
    swapped = loads[0].sent | {first: loads[0].sent[second], second: loads[0].sent[first]}
    assert num_lost(tmp_path / "marks.db", loads[0]._replace(sent=swapped)) == 2
