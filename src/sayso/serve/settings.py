"""Settings for starting the workbench."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sayso.config import Range, check_ranges

_LOCAL_NAME = "localhost"


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """The store, runs and extractions to show, the annotation database, and the address to listen on.

    `facts` are extractions, as files or folders. `part` is a part of the store; if empty, the first of test, validation
    and train that exists. `leads` may change the queue, pilot round and guideline; if there are none, the only user of
    this machine is the lead. `max_body` is the maximum request size in bytes.
    """

    data: Path
    database: Path
    runs: tuple[Path, ...] = ()
    facts: tuple[Path, ...] = ()
    part: str = ""
    host: str = "127.0.0.1"
    port: Annotated[int, Range(0, 65_535)] = 8017
    leads: tuple[str, ...] = ()
    max_body: Annotated[int, Range(1, 10**9)] = 1_000_000

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect; otherwise, users need a link with a token."""
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
        """The URL of the start page."""
        return f"http://{self.bracketed_host}:{self.port}"
