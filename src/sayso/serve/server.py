"""The running server: its settings, its socket, sign-in links, and connections with a deadline.

A client that opens connections and sends nothing, or half a request, uses a file descriptor for each; when they run
out, nobody else can connect.
"""

import asyncio
import errno
import ipaddress
import logging
import re
import resource
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from sayso.annotate.people import annotator_named, end_links, has_link, new_secret
from sayso.annotate.store import AnnotationDatabase
from sayso.config import Range, check_ranges
from sayso.errors import UserError
from sayso.facts.quote import REASONS

_LOCAL_NAME = "localhost"
_BACKLOG = 64
_SHUTDOWN_SECONDS = 5
"""How long pending requests may take when the server shuts down."""
_ANY_HOST = ("0.0.0.0", "::")
_PUBLIC_URL = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?(?:/[\w.~-]+)*", re.ASCII)

REQUEST_SECONDS = 30.0
"""How long a request may take to arrive, counted from the connection or its first byte."""
MAX_CONNECTIONS = 512
_QUIET_SECONDS = 60.0
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
_TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 35\r\n\r\nThe request did not arrive in time."
)


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """The store, runs and extractions to show, the annotation database, and the address to listen on.

    `facts` are extractions, as files or folders. `part` is a part of the store; if empty, the first of test, validation
    and train that exists. `leads` may change the queue, pilot round and guideline; if there are none, the only user of
    this machine is the lead. `reviewers` and `readers` get these roles. `public_url` is where a proxy makes the
    workbench available, if it does. `documents` are those that the facts quote; `reasons` are those for rejecting a
    quote. `max_body` is the maximum request size in bytes.
    """

    data: Path
    database: Path
    runs: tuple[Path, ...] = ()
    facts: tuple[Path, ...] = ()
    part: str = ""
    host: str = "127.0.0.1"
    port: Annotated[int, Range(0, 65_535)] = 8017
    public_url: str = ""
    leads: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    documents: Path | None = None
    reasons: tuple[str, ...] = REASONS
    max_body: Annotated[int, Range(1, 10**9)] = 1_000_000

    def __post_init__(self) -> None:
        check_ranges(self)
        names = [*dict.fromkeys(self.leads), *dict.fromkeys(self.reviewers), *dict.fromkeys(self.readers)]
        if repeated := [name for name, num in Counter(map(str.casefold, names)).items() if num > 1]:
            raise UserError(f"{repeated[0]} has several roles; choose one of lead, reviewer and reader")
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        if self.public_url and not _PUBLIC_URL.fullmatch(self.public_url):
            raise UserError(
                f"{self.public_url}: not a URL for --public-url; expected one such as https://example.org/sayso"
            )

    @property
    def root(self) -> str:
        """The path of the public URL, which begins all links; empty if the workbench has a host of its own."""
        return urlsplit(self.public_url).path

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect; otherwise, users need a link with a token."""
        if self.public_url:
            return False
        if self.host == _LOCAL_NAME:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def bracketed_host(self) -> str:
        """The host as written in URLs, with IPv6 addresses in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def url(self) -> str:
        """The URL of the start page, as users open it."""
        return self.public_url or f"http://{self.bracketed_host}:{self.port}"


def max_connections() -> int:
    """Return the maximum number of open connections: a quarter of this process's file limit, with a cap."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(MAX_CONNECTIONS, soft // 4))


class DeadlineProtocol(H11Protocol):
    """A connection with a deadline for its request; if there are too many connections, the oldest is closed."""

    request_seconds = REQUEST_SECONDS
    _since = 0.0
    _deadline: asyncio.TimerHandle | None = None
    _has_begun = False

    @property
    def is_unfinished(self) -> bool:
        """Whether the connection is waiting for the rest of a request."""
        return self._deadline is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Open the connection and start its deadline."""
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            others = [each for each in self.connections if isinstance(each, DeadlineProtocol) and each.is_unfinished]
            oldest = min(others, key=lambda each: each._since, default=self)
            oldest._stop()  # so that the next connection closes a different one
            oldest.transport.abort()
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Receive data; the first byte of a request starts its deadline."""
        super().data_received(data)
        self._has_begun = True
        if self.conn.their_state not in _UNFINISHED:
            self._stop()
        elif not self.is_unfinished:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._stop()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection when the server stops, without waiting for an unfinished request."""
        if self.is_unfinished:
            self._stop()
            self.transport.close()
        else:
            super().shutdown()

    def _expect(self) -> None:
        self._since = time.monotonic()
        self._deadline = self.loop.call_later(self.request_seconds, self._end)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline, self._has_begun = None, False

    def _end(self) -> None:
        if self._has_begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_TOO_LATE)
        self.transport.close()


class OncePerMinute(logging.Filter):
    """Log each message at most once a minute, so that bad requests cannot fill the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record."""
        now, message = time.monotonic(), str(record.msg)
        if now - self._last.get(message, -_QUIET_SECONDS) < _QUIET_SECONDS:
            return False
        self._last[message] = now
        return True


def open_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free port. Raise `UserError` if it cannot be opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        # Connections are queued from now on: the URL is printed before the event loop runs.
        opened.listen()
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"port {port} on {host} is in use; choose another with --port") from error
        raise UserError(f"{host}: not an address of this machine ({error.strerror}); see --host") from error
    except OverflowError as error:
        opened.close()
        raise UserError(f"{port} is not a valid port; choose one up to 65535 with --port") from error
    return opened


def make_links(
    database: AnnotationDatabase,
    settings: ServeSettings,
    names: Sequence[str],
    is_renewed: bool,
    replaced: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Return (name, link) for everyone who gets a new link; existing links are kept, except those of `replaced`.

    With `is_renewed`, all links and sessions are revoked first, including those of people not in `names`.
    """
    links = []
    host = socket.gethostname() if settings.host in _ANY_HOST else settings.host
    url = replace(settings, host=host).url
    with database.writing() as connection:
        if is_renewed:
            end_links(connection)
        for name in replaced:
            end_links(connection, annotator_named(connection, name))
        for name in (*names, *replaced):
            annotator = annotator_named(connection, name)
            if not has_link(connection, annotator):
                links.append((annotator.name, f"{url}/enter?token={new_secret(connection, 'link', annotator)}"))
    return links


def run(app: FastAPI, opened: socket.socket) -> None:
    """Serve until interrupted."""
    # No access log, because links contain tokens. One process, because the writer's lock is in memory.
    config = uvicorn.Config(
        app,
        http=DeadlineProtocol,
        ws="none",
        backlog=_BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(OncePerMinute())
    uvicorn.Server(config).run(sockets=[opened])
