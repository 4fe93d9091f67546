"""The workbench as a running server: its socket, the links of those who may come from elsewhere, and the loop."""

import errno
import logging
import socket
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI

from sayso.annotate.people import annotator_named, end_links, has_link, make_link
from sayso.annotate.store import Database
from sayso.errors import UserError
from sayso.serve.connection import Connection, Seldom
from sayso.serve.settings import ServeSettings

_BACKLOG = 64
_SHUTDOWN_SECONDS = 5
"""How long requests that are being answered may take once the server is told to end."""
_ANY_HOST = ("0.0.0.0", "::")


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 is any free one. An address that cannot be had is a `UserError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        # From here on who asks is kept waiting, not refused: the address is printed before the loop runs.
        opened.listen()
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"port {port} of {host} is in use; name another with --port") from error
        raise UserError(f"{host}: cannot be used as an address here ({error.strerror}); see --host") from error
    except OverflowError as error:
        opened.close()
        raise UserError(f"{port} is no port; name one up to 65535 with --port") from error
    return opened


def make_links(
    database: Database, settings: ServeSettings, names: Sequence[str], is_renewed: bool
) -> list[tuple[str, str]]:
    """Return (name, link) of everybody who gets one now; who has one keeps it.

    If they are renewed, all links and sessions end first, also of people who are not named now: that shuts them out.
    """
    links = []
    host = socket.gethostname() if settings.host in _ANY_HOST else settings.host
    shown = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
    with database.writing() as connection:
        if is_renewed:
            end_links(connection)
        for name in names:
            annotator = annotator_named(connection, name)
            if not has_link(connection, annotator):
                links.append((annotator.name, f"{shown}/enter?token={make_link(connection, annotator)}"))
    return links


def run(app: FastAPI, opened: socket.socket) -> None:
    """Serve until somebody ends it."""
    # No access log: links carry tokens. One process: the writer's lock is in its memory.
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        backlog=_BACKLOG,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(Seldom())
    uvicorn.Server(config).run(sockets=[opened])
