"""The types of the native module."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from datetime import datetime, timedelta
from pathlib import Path
from types import GenericAlias, TracebackType
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypedDict,
    final,
    overload,
    type_check_only,
)

from _typeshed import StrOrBytesPath, StrPath, SupportsItems
from typing_extensions import Buffer, TypeVar, disjoint_base

from ._codecs import Codec
from ._feed import ChangeSet
from ._reports import Place, Progress, Recovery, Report
from ._returned import Change
from ._views import ItemsView, KeysView, ValuesView

__all__ = [
    "MAX_KEY_BYTES",
    "MAX_NAME_BYTES",
    "MAX_VALUE_BYTES",
    "Batch",
    "Cache",
    "Changes",
    "Cursor",
    "Scan",
    "Store",
    "Table",
    "_Coder",
    "__version__",
    "_end_telling",
    "_run_command_line",
    "changes",
    "check",
    "open",
    "recover",
]

__version__: Final[str]
MAX_KEY_BYTES: Final[int]
MAX_VALUE_BYTES: Final[int]
MAX_NAME_BYTES: Final[int]

_K = TypeVar("_K")
_D = TypeVar("_D")
_V = TypeVar("_V")
# What the verbs take for a key and a value: for "bytes" any buffer, else what they return.
_KeyIn_contra = TypeVar("_KeyIn_contra", contravariant=True, default=_K)
_ValueIn_contra = TypeVar("_ValueIn_contra", contravariant=True, default=_V)
# What a cache of any objects has, where nobody says more.
_CK = TypeVar("_CK", default=Any)
_CV = TypeVar("_CV", default=Any)
_CKIn_contra = TypeVar("_CKIn_contra", contravariant=True, default=_CK)
_CVIn_contra = TypeVar("_CVIn_contra", contravariant=True, default=_CV)
_T_co = TypeVar("_T_co", covariant=True)
_K_co = TypeVar("_K_co", covariant=True)
_V_co = TypeVar("_V_co", covariant=True)

_A = TypeVar("_A")
_B = TypeVar("_B")
_Durability: TypeAlias = Literal["none", "everysec", "always"]
_Index: TypeAlias = Literal["hash", "sorted"]
_Told: TypeAlias = Callable[[Progress], object]
_Ttl: TypeAlias = float | timedelta | None
_Evicted: TypeAlias = Callable[[Any, Any, Literal["size", "expired"]], object]
_CacheKeys: TypeAlias = Literal["str", "bytes", "int", "tuple", "object"] | Codec[Any]
_CacheValues: TypeAlias = Literal["str", "bytes", "int", "json", "msgpack", "pickle", "object"] | Codec[Any]
_Str: TypeAlias = Literal["str"] | None
_Bytes: TypeAlias = Literal["bytes"]
_Int: TypeAlias = Literal["int"]
_Tuples: TypeAlias = Literal["tuple"]
_Tuple: TypeAlias = tuple[Any, ...]
_Objects: TypeAlias = Literal["json", "msgpack", "pickle"]
_Pairs: TypeAlias = SupportsItems[_A, _B] | Iterable[tuple[_A, _B]]

@final
class _Coder:
    def __new__(
        cls,
        table: str,
        remembered: tuple[str, str],
        keys: str | Codec[Any] | None,
        values: str | Codec[Any] | None,
    ) -> Self: ...
    def key(self, key: object, /) -> bytes: ...
    def sought(self, key: object, /) -> bytes: ...
    def value(self, value: object, /) -> bytes: ...
    def to_key(self, key: bytes, /) -> Any: ...
    def to_value(self, value: bytes, /) -> Any: ...
    def range(
        self, gt: object, gte: object, lt: object, lte: object, prefix: object
    ) -> tuple[tuple[bytes, bool] | None, tuple[bytes, bool] | None]: ...
    def amount(self, by: int) -> int: ...
    def count(self, limit: int) -> int: ...
    @staticmethod
    def flag(name: str, value: bool) -> bool: ...
    @property
    def has_none(self) -> bool: ...
    def check_decimal(self) -> None: ...

def _end_telling() -> None: ...
def _run_command_line(arguments: list[str], /) -> int: ...
def open(
    path: StrOrBytesPath,
    *,
    durability: _Durability = "everysec",
    read_only: bool = False,
    existing: bool = False,
    memory_limit: int | None = None,
    progress: _Told | None = None,
) -> Store: ...
def changes(
    path: StrOrBytesPath,
    position: str | None = None,
    *,
    tables: Iterable[Table[Any, Any]] | None = None,
    raw: bool = False,
) -> Changes: ...
def check(
    path: StrOrBytesPath, *, memory_limit: int | None = None, progress: _Told | None = None
) -> Report: ...
def recover(
    path: StrOrBytesPath,
    target: StrOrBytesPath,
    *,
    memory_limit: int | None = None,
    progress: _Told | None = None,
) -> Recovery: ...

@type_check_only
class _Context:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class Store(_Context):
    def __new__(cls, memory_limit: int | None = None) -> Self: ...
    @overload
    def table(
        self,
        name: str,
        index: _Index = "hash",
        *,
        keys: _Str = None,
        values: _Str = None,
        create: bool = True,
    ) -> Table[str, str]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Str = None, values: _Bytes, create: bool = True
    ) -> Table[str, bytes, str, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Str = None, values: _Int, create: bool = True
    ) -> Table[str, int]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Str = None, values: _Objects, create: bool = True
    ) -> Table[str, Any]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Str = None, values: Codec[_B], create: bool = True
    ) -> Table[str, _B]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Bytes, values: _Str = None, create: bool = True
    ) -> Table[bytes, str, Buffer, str]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Bytes, values: _Bytes, create: bool = True
    ) -> Table[bytes, bytes, Buffer, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Bytes, values: _Int, create: bool = True
    ) -> Table[bytes, int, Buffer, int]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Bytes, values: _Objects, create: bool = True
    ) -> Table[bytes, Any, Buffer, Any]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Bytes, values: Codec[_B], create: bool = True
    ) -> Table[bytes, _B, Buffer, _B]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Int, values: _Str = None, create: bool = True
    ) -> Table[int, str]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Int, values: _Bytes, create: bool = True
    ) -> Table[int, bytes, int, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Int, values: _Int, create: bool = True
    ) -> Table[int, int]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Int, values: _Objects, create: bool = True
    ) -> Table[int, Any]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Int, values: Codec[_B], create: bool = True
    ) -> Table[int, _B]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Tuples, values: _Str = None, create: bool = True
    ) -> Table[_Tuple, str]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Tuples, values: _Bytes, create: bool = True
    ) -> Table[_Tuple, bytes, _Tuple, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Tuples, values: _Int, create: bool = True
    ) -> Table[_Tuple, int]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Tuples, values: _Objects, create: bool = True
    ) -> Table[_Tuple, Any]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: _Tuples, values: Codec[_B], create: bool = True
    ) -> Table[_Tuple, _B]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: Codec[_A], values: _Str = None, create: bool = True
    ) -> Table[_A, str]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: Codec[_A], values: _Bytes, create: bool = True
    ) -> Table[_A, bytes, _A, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: Codec[_A], values: _Int, create: bool = True
    ) -> Table[_A, int]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: Codec[_A], values: _Objects, create: bool = True
    ) -> Table[_A, Any]: ...
    @overload
    def table(
        self, name: str, index: _Index = "hash", *, keys: Codec[_A], values: Codec[_B], create: bool = True
    ) -> Table[_A, _B]: ...
    @overload
    def cache(
        self,
        name: str,
        *,
        keys: _Str = None,
        values: _Str = None,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[str, str]: ...
    @overload
    def cache(
        self,
        name: str,
        *,
        keys: _Str = None,
        values: _Bytes,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[str, bytes, str, Buffer]: ...
    @overload
    def cache(
        self,
        name: str,
        *,
        keys: _Str = None,
        values: _Int,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[str, int]: ...
    @overload
    def cache(
        self,
        name: str,
        *,
        keys: _Str = None,
        values: _Objects | Literal["object"],
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[str, Any]: ...
    @overload
    def cache(
        self,
        name: str,
        *,
        keys: _Bytes,
        values: _Bytes,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[bytes, bytes, Buffer, Buffer]: ...
    @overload
    def cache(
        self,
        name: str,
        *,
        keys: _CacheKeys | None = None,
        values: _CacheValues | None = None,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[Any, Any]: ...
    def load_cache(
        self,
        name: str,
        source: Buffer | StrPath,
        *,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        keys: _CacheKeys | None = None,
        values: _CacheValues | None = None,
        on_evict: _Evicted | None = None,
    ) -> Cache[Any, Any]: ...
    def caches(self) -> list[str]: ...
    def drop_cache(self, name: str) -> bool: ...
    def tables(self) -> list[tuple[str, _Index]]: ...
    def drop_table(self, name: str) -> bool: ...
    @property
    def memory(self) -> int: ...
    @property
    def memory_limit(self) -> int | None: ...
    @memory_limit.setter
    def memory_limit(self, value: int | None, /) -> None: ...
    def dump(self) -> bytes: ...
    def save(self, path: StrOrBytesPath | None = None) -> None: ...
    def flush(self) -> None: ...
    def compact(self, *, progress: _Told | None = None) -> None: ...
    def batch(self) -> Batch: ...
    @property
    def path(self) -> Path | None: ...
    @property
    def durability(self) -> _Durability: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def torn(self) -> Place | None: ...
    def refresh(self) -> int: ...
    def follow(self) -> None: ...
    @property
    def position(self) -> str: ...
    def changes(
        self,
        position: str | None = None,
        *,
        tables: Iterable[Table[Any, Any]] | None = None,
        raw: bool = False,
    ) -> Changes: ...
    def stats(self) -> _Stats: ...
    @staticmethod
    def load(
        source: Buffer | StrPath, /, *, memory_limit: int | None = None, progress: _Told | None = None
    ) -> Store: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

@type_check_only
class _Stats(TypedDict):
    tables: int
    pairs: int
    memory: int
    dump_bytes: int
    log_bytes: int
    unsynced_bytes: int
    unsynced_for: timedelta | None
    syncs: int
    last_sync: datetime | None
    compactions: int
    compacting: bool
    compaction_error: str | None
    log_error: str | None
    position: str | None
    behind_bytes: int
    refreshed: datetime | None
    follow_error: str | None

@final
class Changes(_Context, Iterator[ChangeSet]):
    def poll(self) -> ChangeSet | None: ...
    def wait(self, timeout: float | None = None) -> ChangeSet | None: ...
    @property
    def position(self) -> str: ...
    def close(self) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> ChangeSet: ...

@final
class Batch(_Context):
    def insert(self, table: Table[Any, Any, _A, _B], key: _A, value: _B, /) -> None: ...
    def replace(self, table: Table[Any, Any, _A, _B], key: _A, value: _B, /) -> None: ...
    def upsert(self, table: Table[Any, Any, _A, _B], key: _A, value: _B, /) -> None: ...
    def delete(self, table: Table[Any, Any, _A, Any], key: _A, /) -> None: ...
    def increment(self, table: Table[Any, Any, _A, Any], key: _A, by: int = 1, /) -> None: ...
    def expect(self, table: Table[Any, Any, _A, _B], key: _A, value: _B | None, /) -> None: ...
    def commit(self) -> list[bool]: ...
    def __len__(self) -> int: ...

# What tables and caches share.
@type_check_only
class _Verbs(MutableMapping[_K, _V], Generic[_K, _V, _KeyIn_contra, _ValueIn_contra]):
    @property
    def name(self) -> str: ...
    @property
    def codecs(self) -> tuple[str, str]: ...
    @property
    def memory(self) -> int: ...
    @overload  # type: ignore[override]
    def update(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra] = (), /) -> None: ...
    @overload
    def update(
        self: _Verbs[str, _V, str, _ValueIn_contra],
        pairs: _Pairs[str, _ValueIn_contra] = (),
        /,
        **keywords: _ValueIn_contra,
    ) -> None: ...
    def delete(self, key: _KeyIn_contra, /) -> bool: ...
    def clear(self) -> None: ...
    def select(self, key: _KeyIn_contra, /) -> _V | None: ...
    def view(self, key: _KeyIn_contra, /) -> memoryview[int] | None: ...
    def contains(self, key: _KeyIn_contra, /) -> bool: ...
    @overload
    def alter(
        self, key: _KeyIn_contra, change: Callable[[_V | None], _ValueIn_contra | Change], /
    ) -> bool: ...
    @overload
    def alter(
        self, key: _KeyIn_contra, change: Callable[[_V | _D], _ValueIn_contra | Change], /, default: _D
    ) -> bool: ...
    def increment(self, key: _KeyIn_contra, by: int = 1, /) -> int: ...
    def compare_and_swap(
        self, key: _KeyIn_contra, expected: _ValueIn_contra | None, new: _ValueIn_contra | None, /
    ) -> bool: ...
    def delete_many(self, keys: Iterable[_KeyIn_contra], /) -> list[bool]: ...
    def select_many(self, keys: Iterable[_KeyIn_contra], /) -> list[_V | None]: ...
    def contains_many(self, keys: Iterable[_KeyIn_contra], /) -> list[bool]: ...
    def increment_many(self, amounts: _Pairs[_KeyIn_contra, int], /) -> list[int]: ...
    def __getitem__(self, key: _K, /) -> _V: ...
    def __setitem__(self, key: _K, value: _V, /) -> None: ...
    def __delitem__(self, key: _K, /) -> None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Scan[_K]: ...
    def keys(self) -> KeysView[_K]: ...
    def values(self) -> ValuesView[_V]: ...
    def items(self) -> ItemsView[_K, _V]: ...
    @overload
    def get(self, key: _K, default: None = None, /) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def get(self, key: _K, default: _D, /) -> _V | _D: ...
    @overload
    def pop(self, key: _K, /) -> _V: ...
    @overload
    def pop(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def pop(self, key: _K, default: _D, /) -> _V | _D: ...
    @overload
    def setdefault(self: _Verbs[_K, _D | None], key: _K, default: None = None, /) -> _D | None: ...
    @overload
    def setdefault(self, key: _K, default: _V, /) -> _V: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...

@final
class Table(_Verbs[_K, _V, _KeyIn_contra, _ValueIn_contra], Generic[_K, _V, _KeyIn_contra, _ValueIn_contra]):
    @property
    def index(self) -> _Index: ...
    def insert(self, key: _KeyIn_contra, value: _ValueIn_contra, /) -> bool: ...
    def replace(self, key: _KeyIn_contra, value: _ValueIn_contra, /) -> bool: ...
    def upsert(self, key: _KeyIn_contra, value: _ValueIn_contra, /) -> bool: ...
    def insert_many(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /) -> list[bool]: ...
    def replace_many(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /) -> list[bool]: ...
    def upsert_many(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /) -> list[bool]: ...
    def compare_and_swap_many(
        self, swaps: Iterable[tuple[_KeyIn_contra, _ValueIn_contra | None, _ValueIn_contra | None]], /
    ) -> list[bool]: ...
    def cursor(
        self,
        *,
        gt: _KeyIn_contra | None = None,
        gte: _KeyIn_contra | None = None,
        lt: _KeyIn_contra | None = None,
        lte: _KeyIn_contra | None = None,
        prefix: _KeyIn_contra | None = None,
    ) -> Cursor[_K, _V]: ...
    def scan(
        self,
        *,
        gt: _KeyIn_contra | None = None,
        gte: _KeyIn_contra | None = None,
        lt: _KeyIn_contra | None = None,
        lte: _KeyIn_contra | None = None,
        prefix: _KeyIn_contra | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Scan[tuple[_K, _V]]: ...
    def irange(
        self,
        minimum: _KeyIn_contra | None = None,
        maximum: _KeyIn_contra | None = None,
        inclusive: tuple[bool, bool] = (True, True),
        reverse: bool = False,
    ) -> Scan[_K]: ...
    def bisect_left(self, key: _KeyIn_contra, /) -> int: ...
    def bisect_right(self, key: _KeyIn_contra, /) -> int: ...
    def bisect(self, key: _KeyIn_contra, /) -> int: ...
    def peekitem(self, index: int = -1, /) -> tuple[_K, _V]: ...
    def __reversed__(self) -> Scan[_K]: ...
    def _iterate_items(self, *, reverse: bool = False) -> Scan[tuple[_K, _V]]: ...
    def _iterate_values(self, *, reverse: bool = False) -> Scan[_V]: ...
    def popitem(self, *, index: int | None = None) -> tuple[_K, _V]: ...

@final
class _Computation:
    def stands(self) -> bool: ...
    def end(self) -> None: ...

@disjoint_base
class Cache(_Verbs[_CK, _CV, _CKIn_contra, _CVIn_contra], Generic[_CK, _CV, _CKIn_contra, _CVIn_contra]):
    def __new__(
        cls,
        *,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        keys: _CacheKeys | None = None,
        values: _CacheValues | None = None,
        on_evict: _Evicted | None = None,
    ) -> Self: ...
    @property
    def capacity(self) -> int | None: ...
    @property
    def maxsize(self) -> int | None: ...
    @property
    def currsize(self) -> int: ...
    @property
    def default_ttl(self) -> float | None: ...
    def stats(self) -> _CacheStats: ...
    def save(self, path: StrOrBytesPath) -> None: ...
    def dump(self) -> bytes: ...
    @classmethod
    def load(
        cls,
        source: Buffer | StrPath,
        /,
        *,
        capacity: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        keys: _CacheKeys | None = None,
        values: _CacheValues | None = None,
        on_evict: _Evicted | None = None,
    ) -> Self: ...
    def insert(self, key: _CKIn_contra, value: _CVIn_contra, /, *, ttl: _Ttl = None) -> bool: ...
    def replace(self, key: _CKIn_contra, value: _CVIn_contra, /, *, ttl: _Ttl = None) -> bool: ...
    def upsert(self, key: _CKIn_contra, value: _CVIn_contra, /, *, ttl: _Ttl = None) -> bool: ...
    @overload
    def peek(self, key: _CKIn_contra, default: None = None, /) -> _CV | None: ...
    @overload
    def peek(self, key: _CKIn_contra, default: _D, /) -> _CV | _D: ...
    def ttl(self, key: _CKIn_contra, /) -> float | None: ...
    def touch(self, key: _CKIn_contra, ttl: _Ttl = None, /) -> bool: ...
    def get_or_compute(
        self, key: _CKIn_contra, compute: Callable[[], _CVIn_contra], /, *, ttl: _Ttl = None
    ) -> _CV: ...
    @property
    def _flights(self) -> dict[Any, Any]: ...
    def _name(self, key: _CKIn_contra) -> bytes: ...
    def _peek_stored(self, name: bytes) -> bytes | None: ...
    def _begin(self, name: bytes) -> _Computation: ...
    def _store(self, name: bytes, value: Any, ttl: _Ttl, computation: _Computation) -> bytes: ...
    def _show(self, stored: bytes) -> _CV: ...
    def insert_many(
        self, pairs: _Pairs[_CKIn_contra, _CVIn_contra], /, *, ttl: _Ttl = None
    ) -> list[bool]: ...
    def replace_many(
        self, pairs: _Pairs[_CKIn_contra, _CVIn_contra], /, *, ttl: _Ttl = None
    ) -> list[bool]: ...
    def upsert_many(
        self, pairs: _Pairs[_CKIn_contra, _CVIn_contra], /, *, ttl: _Ttl = None
    ) -> list[bool]: ...
    def _iterate_items(self) -> Scan[tuple[_CK, _CV]]: ...
    def _iterate_values(self) -> Scan[_CV]: ...
    def popitem(self) -> tuple[_CK, _CV]: ...

@type_check_only
class _CacheStats(TypedDict):
    hits: int
    misses: int
    writes: int
    evictions: int
    expirations: int

@final
class Cursor(Generic[_K_co, _V_co]):
    def scan_asc_next(self) -> tuple[_K_co, _V_co] | None: ...
    def scan_desc_next(self) -> tuple[_K_co, _V_co] | None: ...
    def scan_asc_next_many(self, limit: int, /) -> list[tuple[_K_co, _V_co]]: ...
    def scan_desc_next_many(self, limit: int, /) -> list[tuple[_K_co, _V_co]]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...

@final
class Scan(Iterator[_T_co]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T_co: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
