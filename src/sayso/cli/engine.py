"""The options that say who does the work: this process, or the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.errors import UserError

if TYPE_CHECKING:
    from sayso.engine.base import Engine


class EngineName(StrEnum):
    """Who does the work."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="local: this process; ray: the workers of a Ray cluster.")
]
Address = Annotated[
    str, typer.Option("--address", help="With ray: where the cluster is; empty starts one on this machine.")
]
Workers = Annotated[
    int, typer.Option("--workers", min=0, help="With ray: workers; 0 is one for each processor or GPU.")
]
WorkerGpus = Annotated[float, typer.Option("--worker-gpus", min=0.0, help="With ray: GPUs that each worker gets.")]


@contextmanager
def opened(name: EngineName, address: str, workers: int, gpus: float = 0.0) -> "Iterator[Engine]":
    """Give the engine while the block runs; options that it has no use for are a `UserError`."""
    from sayso.engine import ENGINES
    from sayso.engine.base import EngineSettings

    if name == EngineName.local and (address or workers or gpus):
        raise UserError("--address, --workers and --worker-gpus are for --engine ray")
    with ENGINES[name.value](EngineSettings(address=address, num_workers=workers, num_gpus=gpus)) as engine:
        yield engine
