"""Engines: who works on the shards, this process or a cluster. Both call the same functions and give the same results.

ENGINES is the closed list of them; each is a context manager that gives a function to map over shards.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from sayso.engine.base import Engine, EngineSettings, open_local
from sayso.engine.ray_cluster import open_ray

ENGINES: dict[str, Callable[[EngineSettings], AbstractContextManager[Engine]]] = {
    "local": open_local,
    "ray": open_ray,
}
