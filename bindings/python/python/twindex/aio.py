"""Tables in a Valkey or Redis Cluster, for asyncio. This needs the package `twindex-cluster`.

>>> import twindex.aio
>>> async def main() -> None:
...     async with await twindex.aio.connect("redis://localhost:7000") as store:
...         users = await store.table("users")
...         await users.insert("ada", "1815")
"""

from importlib import import_module
from typing import Any

from ._connect import cluster

__all__ = ["connect"]


async def connect(url: str, **options: Any) -> Any:
    """Connect to the servers that a URL names: see `twindex_cluster.connect` for the options."""
    return await import_module(f"{cluster().__name__}.aio").connect(url, **options)
