"""A browser's connection to the workbench: a request must be there within a deadline, and few may wait at a time.

Whoever opens connections and sends nothing, or sends half a request, holds a file of this process for each; when those
run out nobody else gets in.
"""

import asyncio
import logging
import resource
import time

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 30.0
"""How long a request may take to arrive, from the connection or its first byte on."""
MAX_CONNECTIONS = 512
_QUIET_SECONDS = 60.0
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
_TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Content-Length: 35\r\n\r\nThe request did not arrive in time."
)


def max_connections() -> int:
    """Return how many connections may be open: a quarter of the files that this process may have, but not too many."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(MAX_CONNECTIONS, soft // 4))


class Connection(H11Protocol):
    """A connection that ends where its request does not arrive; where there are too many the oldest of those ends."""

    request_seconds = REQUEST_SECONDS
    _since = 0.0
    _deadline: asyncio.TimerHandle | None = None
    _has_begun = False

    @property
    def is_unfinished(self) -> bool:
        """Whether the connection waits for the rest of a request."""
        return self._deadline is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection up, and expect a request."""
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            others = [each for each in self.connections if isinstance(each, Connection) and each.is_unfinished]
            oldest = min(others, key=lambda each: each._since, default=self)
            oldest._stop()  # so that the next connection ends another one
            oldest.transport.abort()
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take in what was sent; the first byte of a request starts its time."""
        super().data_received(data)
        self._has_begun = True
        if self.conn.their_state not in _UNFINISHED:
            self._stop()
        elif not self.is_unfinished:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._stop()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection when the server ends; a request that has not arrived is not waited for."""
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


class Seldom(logging.Filter):
    """Lets a message through once a minute: whoever sends bad requests must not fill the disk with lines about them."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether the record is to be written."""
        now, message = time.monotonic(), str(record.msg)
        if now - self._last.get(message, -_QUIET_SECONDS) < _QUIET_SECONDS:
            return False
        self._last[message] = now
        return True
