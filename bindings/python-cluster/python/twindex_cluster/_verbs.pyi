# The types that the classes for threads and for asyncio share.

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeAlias, TypedDict, TypeVar

from twindex import Codec
from twindex._twindex import _Index

_K = TypeVar("_K")
_V = TypeVar("_V")
_A = TypeVar("_A")
_B = TypeVar("_B")
Time: TypeAlias = float | timedelta

class AsyncContext:
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class Options(TypedDict, total=False):
    namespace: str
    near_cache: int
    longest_life: Time
    timeout: Time
    connect_timeout: Time
    patience: Time
    catalogue_age: Time
    partitions: int
    replicas: int
    addresses: Mapping[str, str]
    tls_authority: bytes | str | None
    tls_identity: tuple[bytes | str, bytes | str] | None

class TableOptions(TypedDict, total=False):
    keys: str | Codec[Any] | None
    values: str | Codec[Any] | None
    create: bool

class Stores:
    @property
    def near_stats(self) -> dict[str, int] | None: ...
    def snapshot(self) -> NoReturn: ...
    def transaction(self, _function: object = None, /) -> NoReturn: ...

class Verbs(Generic[_K, _V]):
    @property
    def name(self) -> str: ...
    @property
    def index(self) -> _Index: ...
    @property
    def codecs(self) -> tuple[str, str]: ...
    def watch(self, _prefix: object = None, /, **_options: object) -> NoReturn: ...

class Batch:
    def insert(self, table: Verbs[_A, _B], key: _A, value: _B, /) -> None: ...
    def replace(self, table: Verbs[_A, _B], key: _A, value: _B, /) -> None: ...
    def upsert(self, table: Verbs[_A, _B], key: _A, value: _B, /) -> None: ...
    def delete(self, table: Verbs[_A, Any], key: _A, /) -> None: ...
    def increment(self, table: Verbs[_A, Any], key: _A, /, by: int = 1) -> None: ...
    def expect(self, table: Verbs[_A, _B], key: _A, value: _B | None, /) -> None: ...
    def __len__(self) -> int: ...
