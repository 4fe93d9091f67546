"""Who does the work on shards: this process, or a cluster. Both call the same functions, so both give the same results.

ENGINES is the closed list of them; each opens for a while, and what it gives maps a function over shards.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from sayso.engine.base import Engine, EngineSettings
from sayso.engine.local import open_local
from sayso.engine.ray_cluster import open_ray

ENGINES: dict[str, Callable[[EngineSettings], AbstractContextManager[Engine]]] = {
    "local": open_local,
    "ray": open_ray,
}
