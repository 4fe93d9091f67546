"""Engines map a function over shards, in this process or on a cluster, with the same results.

ENGINES lists all of them; each is a context manager that yields a map function.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from sayso.engine.base import Engine, EngineSettings, open_local
from sayso.engine.ray_cluster import open_ray

ENGINES: dict[str, Callable[[EngineSettings], AbstractContextManager[Engine]]] = {
    "local": open_local,
    "ray": open_ray,
}
