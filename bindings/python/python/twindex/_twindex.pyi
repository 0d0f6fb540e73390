"""The types of the native module."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from datetime import datetime, timedelta
from pathlib import Path
from types import GenericAlias, TracebackType
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    Never,
    Self,
    TypeAlias,
    TypedDict,
    Unpack,
    final,
    overload,
    type_check_only,
)

from _typeshed import StrOrBytesPath, StrPath, SupportsItems
from typing_extensions import Buffer, TypeVar, disjoint_base

from ._codecs import Codec
from ._feed import Change, ChangeSet
from ._reports import Place, Progress, Recovery, Report
from ._returned import Returned
from ._views import ItemsView, KeysView, ValuesView
from ._watch import Watch

__all__ = [
    "MAX_KEY_BYTES",
    "MAX_NAME_BYTES",
    "MAX_VALUE_BYTES",
    "Batch",
    "Cache",
    "Changes",
    "Cursor",
    "ExpiringSnapshotTable",
    "ExpiringTable",
    "Scan",
    "Snapshot",
    "SnapshotTable",
    "Store",
    "Table",
    "Transaction",
    "TransactionTable",
    "_Coder",
    "_Computation",
    "_Waiter",
    "_Watch",
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
_NewIndex: TypeAlias = _Index | None
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
    tables: Iterable[_Stored[Any, Any, Any, Any]] | None = None,
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
        index: _NewIndex = None,
        *,
        keys: _Str = None,
        values: _Str = None,
        create: bool = True,
        expires: Literal[True],
    ) -> ExpiringTable[str, str]: ...
    @overload
    def table(
        self,
        name: str,
        index: _NewIndex = None,
        *,
        keys: str | Codec[Any] | None = None,
        values: str | Codec[Any] | None = None,
        create: bool = True,
        expires: Literal[True],
    ) -> ExpiringTable[Any, Any]: ...
    @overload
    def table(
        self,
        name: str,
        index: _NewIndex = None,
        *,
        keys: _Str = None,
        values: _Str = None,
        create: bool = True,
        expires: Literal[False] | None = None,
    ) -> Table[str, str]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Str = None, values: _Bytes, create: bool = True
    ) -> Table[str, bytes, str, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Str = None, values: _Int, create: bool = True
    ) -> Table[str, int]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Str = None, values: _Objects, create: bool = True
    ) -> Table[str, Any]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Str = None, values: Codec[_B], create: bool = True
    ) -> Table[str, _B]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Bytes, values: _Str = None, create: bool = True
    ) -> Table[bytes, str, Buffer, str]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Bytes, values: _Bytes, create: bool = True
    ) -> Table[bytes, bytes, Buffer, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Bytes, values: _Int, create: bool = True
    ) -> Table[bytes, int, Buffer, int]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Bytes, values: _Objects, create: bool = True
    ) -> Table[bytes, Any, Buffer, Any]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Bytes, values: Codec[_B], create: bool = True
    ) -> Table[bytes, _B, Buffer, _B]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Int, values: _Str = None, create: bool = True
    ) -> Table[int, str]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Int, values: _Bytes, create: bool = True
    ) -> Table[int, bytes, int, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Int, values: _Int, create: bool = True
    ) -> Table[int, int]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Int, values: _Objects, create: bool = True
    ) -> Table[int, Any]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Int, values: Codec[_B], create: bool = True
    ) -> Table[int, _B]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Tuples, values: _Str = None, create: bool = True
    ) -> Table[_Tuple, str]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Tuples, values: _Bytes, create: bool = True
    ) -> Table[_Tuple, bytes, _Tuple, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Tuples, values: _Int, create: bool = True
    ) -> Table[_Tuple, int]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Tuples, values: _Objects, create: bool = True
    ) -> Table[_Tuple, Any]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: _Tuples, values: Codec[_B], create: bool = True
    ) -> Table[_Tuple, _B]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: Codec[_A], values: _Str = None, create: bool = True
    ) -> Table[_A, str]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: Codec[_A], values: _Bytes, create: bool = True
    ) -> Table[_A, bytes, _A, Buffer]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: Codec[_A], values: _Int, create: bool = True
    ) -> Table[_A, int]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: Codec[_A], values: _Objects, create: bool = True
    ) -> Table[_A, Any]: ...
    @overload
    def table(
        self, name: str, index: _NewIndex = None, *, keys: Codec[_A], values: Codec[_B], create: bool = True
    ) -> Table[_A, _B]: ...
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
        tables: Iterable[_Stored[Any, Any, Any, Any]] | None = None,
        raw: bool = False,
    ) -> Changes: ...
    def stats(self) -> _Stats: ...
    def snapshot(self) -> Snapshot: ...
    @overload
    def transaction(self, function: None = None, /) -> Transaction: ...
    @overload
    def transaction(self, function: Callable[[Transaction], _A], /) -> _A: ...
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
    snapshots: int
    kept_bytes: int
    transactions: int

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
    def increment(self, table: Table[Any, Any, _A, Any], key: _A, /, by: int = 1) -> None: ...
    def expect(self, table: Table[Any, Any, _A, _B], key: _A, value: _B | None, /) -> None: ...
    def commit(self) -> list[bool]: ...
    def __len__(self) -> int: ...

@type_check_only
class _Range(TypedDict, Generic[_A], total=False):
    gt: _A | None
    gte: _A | None
    lt: _A | None
    lte: _A | None
    prefix: _A | None

@type_check_only
class _Scanned(_Range[_A], total=False):
    reverse: bool
    limit: int | None

# What tables, caches and those of transactions share.
@type_check_only
class _KeyReads(Generic[_K, _V, _KeyIn_contra]):
    @property
    def codecs(self) -> tuple[str, str]: ...
    def select(self, key: _KeyIn_contra, /) -> _V | None: ...
    def contains(self, key: _KeyIn_contra, /) -> bool: ...
    def select_many(self, keys: Iterable[_KeyIn_contra], /) -> list[_V | None]: ...
    def contains_many(self, keys: Iterable[_KeyIn_contra], /) -> list[bool]: ...
    def __getitem__(self, key: _K, /) -> _V: ...
    def __contains__(self, key: object, /) -> bool: ...
    @overload
    def get(self, key: _K, default: None = None, /) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def get(self, key: _K, default: _D, /) -> _V | _D: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...

@type_check_only
class _Reads(_KeyReads[_K, _V, _KeyIn_contra]):
    def __len__(self) -> int: ...
    def __iter__(self) -> Scan[_K]: ...
    def keys(self) -> KeysView[_K]: ...
    def values(self) -> ValuesView[_V]: ...
    def items(self) -> ItemsView[_K, _V]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

@type_check_only
class _Writes(Generic[_K, _V, _KeyIn_contra, _ValueIn_contra]):
    @overload
    def update(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra] = (), /) -> None: ...
    @overload
    def update(
        self: _Writes[str, _V, str, _ValueIn_contra],
        pairs: _Pairs[str, _ValueIn_contra] = (),
        /,
        **keywords: _ValueIn_contra,
    ) -> None: ...
    def delete(self, key: _KeyIn_contra, /) -> bool: ...
    @overload
    def alter(
        self, key: _KeyIn_contra, change: Callable[[_V | None], _ValueIn_contra | Returned], /
    ) -> bool: ...
    @overload
    def alter(
        self, key: _KeyIn_contra, change: Callable[[_V | _D], _ValueIn_contra | Returned], /, default: _D
    ) -> bool: ...
    def increment(self, key: _KeyIn_contra, /, by: int = 1) -> int: ...
    def compare_and_swap(
        self, key: _KeyIn_contra, expected: _ValueIn_contra | None, new: _ValueIn_contra | None, /
    ) -> bool: ...
    def delete_many(self, keys: Iterable[_KeyIn_contra], /) -> list[bool]: ...
    def increment_many(self, amounts: _Pairs[_KeyIn_contra, int], /) -> list[int]: ...
    def __setitem__(self, key: _K, value: _V, /) -> None: ...
    def __delitem__(self, key: _K, /) -> None: ...
    @overload
    def pop(self, key: _K, /) -> _V: ...
    @overload
    def pop(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def pop(self, key: _K, default: _D, /) -> _V | _D: ...
    @overload
    def setdefault(self: _Writes[_K, _D | None], key: _K, default: None = None, /) -> _D | None: ...
    @overload
    def setdefault(self, key: _K, default: _V, /) -> _V: ...

@type_check_only
class _TableWrites(_Writes[_K, _V, _KeyIn_contra, _ValueIn_contra]):
    def insert(self, key: _KeyIn_contra, value: _ValueIn_contra, /) -> bool: ...
    def replace(self, key: _KeyIn_contra, value: _ValueIn_contra, /) -> bool: ...
    def upsert(self, key: _KeyIn_contra, value: _ValueIn_contra, /) -> bool: ...
    def insert_many(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /) -> list[bool]: ...
    def replace_many(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /) -> list[bool]: ...
    def upsert_many(self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /) -> list[bool]: ...
    def compare_and_swap_many(
        self, swaps: Iterable[tuple[_KeyIn_contra, _ValueIn_contra | None, _ValueIn_contra | None]], /
    ) -> list[bool]: ...
    def take(self, key: _KeyIn_contra, /) -> _V | None: ...
    def pop_first(self) -> tuple[_K, _V] | None: ...
    def pop_last(self) -> tuple[_K, _V] | None: ...

# What takes times to live: of tables whose pairs expire, of those of transactions and of caches.
@type_check_only
class _TimedWrites(Generic[_K, _V, _KeyIn_contra, _ValueIn_contra]):
    def insert(self, key: _KeyIn_contra, value: _ValueIn_contra, /, *, ttl: _Ttl = None) -> bool: ...
    def replace(self, key: _KeyIn_contra, value: _ValueIn_contra, /, *, ttl: _Ttl = None) -> bool: ...
    def upsert(self, key: _KeyIn_contra, value: _ValueIn_contra, /, *, ttl: _Ttl = None) -> bool: ...
    def insert_many(
        self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /, *, ttl: _Ttl = None
    ) -> list[bool]: ...
    def replace_many(
        self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /, *, ttl: _Ttl = None
    ) -> list[bool]: ...
    def upsert_many(
        self, pairs: _Pairs[_KeyIn_contra, _ValueIn_contra], /, *, ttl: _Ttl = None
    ) -> list[bool]: ...
    def ttl(self, key: _KeyIn_contra, /) -> float | None: ...
    def touch(self, key: _KeyIn_contra, ttl: _Ttl = None, /) -> bool: ...

# The writes of tables whose pairs expire, and of those of transactions.
@type_check_only
class _Lends(
    _TimedWrites[_K, _V, _KeyIn_contra, _ValueIn_contra],
    _TableWrites[_K, _V, _KeyIn_contra, _ValueIn_contra],
    Generic[_K, _V, _KeyIn_contra, _ValueIn_contra],
):
    def increment(self, key: _KeyIn_contra, /, by: int = 1, *, ttl: _Ttl = None) -> int: ...
    def increment_many(self, amounts: _Pairs[_KeyIn_contra, int], /, *, ttl: _Ttl = None) -> list[int]: ...

# What tables, those of snapshots and those of transactions share. Their scans are of type `_T_co`.
@type_check_only
class _RangeReads(Generic[_K, _V, _T_co, _KeyIn_contra]):
    @property
    def name(self) -> str: ...
    @property
    def index(self) -> _Index: ...
    def first(self) -> tuple[_K, _V] | None: ...
    def last(self) -> tuple[_K, _V] | None: ...
    def scan(self, **ends: Unpack[_Scanned[_KeyIn_contra]]) -> _T_co: ...
    def prefix(
        self, prefix: _KeyIn_contra, /, *, reverse: bool = False, limit: int | None = None
    ) -> _T_co: ...

@type_check_only
class _TableReads(
    _Reads[_K, _V, _KeyIn_contra],
    _RangeReads[_K, _V, Scan[tuple[_K, _V]], _KeyIn_contra],
    Generic[_K, _V, _KeyIn_contra],
):
    def view(self, key: _KeyIn_contra, /) -> memoryview[int] | None: ...
    def cursor(self, **ends: Unpack[_Range[_KeyIn_contra]]) -> Cursor[_K, _V]: ...
    def irange(
        self,
        minimum: _KeyIn_contra | None = None,
        maximum: _KeyIn_contra | None = None,
        inclusive: tuple[bool, bool] = (True, True),
        reverse: bool = False,
    ) -> Scan[_K]: ...
    def to_arrow(self, *, batch_size: int = 65536, **ends: Unpack[_Scanned[_KeyIn_contra]]) -> Any: ...
    def _arrow_types(self) -> tuple[str, str]: ...
    def bisect_left(self, key: _KeyIn_contra, /) -> int: ...
    def bisect_right(self, key: _KeyIn_contra, /) -> int: ...
    def bisect(self, key: _KeyIn_contra, /) -> int: ...
    def peekitem(self, index: int = -1, /) -> tuple[_K, _V]: ...
    def __reversed__(self) -> Scan[_K]: ...
    def _iterate_items(self, *, reverse: bool = False) -> Scan[tuple[_K, _V]]: ...
    def _iterate_values(self, *, reverse: bool = False) -> Scan[_V]: ...

@type_check_only
class _Stored(
    _TableReads[_K, _V, _KeyIn_contra],
    _TableWrites[_K, _V, _KeyIn_contra, _ValueIn_contra],
    Generic[_K, _V, _KeyIn_contra, _ValueIn_contra],
):
    @property
    def memory(self) -> int: ...
    def clear(self) -> None: ...
    def delete_range(self, **ends: Unpack[_Range[_KeyIn_contra]]) -> int: ...
    def delete_prefix(self, prefix: _KeyIn_contra, /) -> int: ...
    def popitem(self, *, index: int | None = None) -> tuple[_K, _V]: ...
    def watch(
        self,
        prefix: _KeyIn_contra | None = None,
        /,
        *,
        max_changes: int | None = None,
        capacity: int | None = None,
    ) -> Watch: ...

@final
class Table(  # type: ignore[misc]
    _Stored[_K, _V, _KeyIn_contra, _ValueIn_contra],
    MutableMapping[_K, _V],
    Generic[_K, _V, _KeyIn_contra, _ValueIn_contra],
):
    def from_arrow(self, data: Any, /) -> int: ...
    def _write_columns(self, rows: int, keys: list[Buffer], values: list[Buffer], /) -> None: ...

@final
class ExpiringTable(  # type: ignore[misc]
    _Lends[_K, _V, _KeyIn_contra, _ValueIn_contra],
    _Stored[_K, _V, _KeyIn_contra, _ValueIn_contra],
    MutableMapping[_K, _V],
    Generic[_K, _V, _KeyIn_contra, _ValueIn_contra],
):
    def remove_expired(self, limit: int | None = None) -> int: ...

@final
class Snapshot(_Context):
    @overload
    def table(
        self, table: Table[_K, _V, _KeyIn_contra, Any], *, keys: None = None, values: None = None
    ) -> SnapshotTable[_K, _V, _KeyIn_contra]: ...
    @overload
    def table(
        self, table: ExpiringTable[_K, _V, _KeyIn_contra, Any], *, keys: None = None, values: None = None
    ) -> ExpiringSnapshotTable[_K, _V, _KeyIn_contra]: ...
    @overload
    def table(
        self,
        table: str | Table[Any, Any],
        *,
        keys: str | Codec[Any] | None = None,
        values: str | Codec[Any] | None = None,
    ) -> SnapshotTable[Any, Any]: ...
    def tables(self) -> list[tuple[str, _Index]]: ...
    @property
    def position(self) -> str: ...
    def dump(self) -> bytes: ...
    def save(self, path: StrOrBytesPath) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

# Nobody can write to them: that raises `ReadOnlyError`.
@final
class SnapshotTable(_TableReads[_K, _V, _KeyIn_contra], Mapping[_K, _V], Generic[_K, _V, _KeyIn_contra]):
    def _read_only(self) -> Never: ...

@final
class ExpiringSnapshotTable(
    _TableReads[_K, _V, _KeyIn_contra], Mapping[_K, _V], Generic[_K, _V, _KeyIn_contra]
):
    def _read_only(self) -> Never: ...
    def ttl(self, key: _KeyIn_contra, /) -> float | None: ...

@final
class Transaction(_Context):
    @overload
    def table(
        self,
        table: _Stored[_K, _V, _KeyIn_contra, _ValueIn_contra],
        *,
        keys: None = None,
        values: None = None,
    ) -> TransactionTable[_K, _V, _KeyIn_contra, _ValueIn_contra]: ...
    @overload
    def table(
        self,
        table: str | _Stored[Any, Any],
        *,
        keys: str | Codec[Any] | None = None,
        values: str | Codec[Any] | None = None,
    ) -> TransactionTable[Any, Any]: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def _has_conflict(self) -> bool: ...
    @property
    def _of(self) -> int: ...

@final
class TransactionTable(
    _KeyReads[_K, _V, _KeyIn_contra],
    _Lends[_K, _V, _KeyIn_contra, _ValueIn_contra],
    _RangeReads[_K, _V, Iterator[tuple[_K, _V]], _KeyIn_contra],
    Generic[_K, _V, _KeyIn_contra, _ValueIn_contra],
):
    def __iter__(self) -> Iterator[_K]: ...

@final
class _Computation:
    def end(self, cache: Cache[Any, Any], value: Any) -> bytes: ...
    def fail(self, error: BaseException) -> None: ...

@final
class _Watch:
    @property
    def ended(self) -> bool: ...
    def poll(self) -> Change | None: ...
    def wait(self, timeout: float | None) -> Change | None: ...
    def poll_or_wake(self, wake: Callable[[], object]) -> Change | None: ...
    def close(self) -> None: ...

@final
class _Waiter:
    def then(self, wake: Callable[[], object]) -> None: ...
    def outcome(self) -> bytes | None: ...

@disjoint_base
class Cache(  # type: ignore[misc]
    _TimedWrites[_CK, _CV, _CKIn_contra, _CVIn_contra],
    _Reads[_CK, _CV, _CKIn_contra],
    _Writes[_CK, _CV, _CKIn_contra, _CVIn_contra],
    MutableMapping[_CK, _CV],
    Generic[_CK, _CV, _CKIn_contra, _CVIn_contra],
):
    def __new__(
        cls,
        *,
        capacity: int | None = None,
        max_entries: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        time_to_idle: _Ttl = None,
        stale_for: _Ttl = None,
        keys: _CacheKeys | None = None,
        values: _CacheValues | None = None,
        on_evict: _Evicted | None = None,
    ) -> Self: ...
    @property
    def capacity(self) -> int | None: ...
    @property
    def memory(self) -> int: ...
    @property
    def max_entries(self) -> int | None: ...
    @property
    def maxsize(self) -> int | None: ...
    @property
    def currsize(self) -> int: ...
    @property
    def default_ttl(self) -> float | None: ...
    @property
    def time_to_idle(self) -> float | None: ...
    @property
    def stale_for(self) -> float | None: ...
    def shrink_to(self, capacity: int, /) -> None: ...
    def clear(self) -> None: ...
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
        max_entries: int | None = None,
        maxsize: int | None = None,
        ttl: _Ttl = None,
        time_to_idle: _Ttl = None,
        stale_for: _Ttl = None,
        keys: _CacheKeys | None = None,
        values: _CacheValues | None = None,
        on_evict: _Evicted | None = None,
    ) -> Self: ...
    @overload
    def peek(self, key: _CKIn_contra, default: None = None, /) -> _CV | None: ...
    @overload
    def peek(self, key: _CKIn_contra, default: _D, /) -> _CV | _D: ...
    def get_or_compute(
        self, key: _CKIn_contra, compute: Callable[[], _CVIn_contra], /, *, ttl: _Ttl = None
    ) -> _CV: ...
    def _name(self, key: _CKIn_contra) -> bytes: ...
    def _begin(self, name: bytes, ttl: _Ttl) -> bytes | _Computation | _Waiter: ...
    def _show(self, stored: bytes) -> _CV: ...
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
    rejected: int

@final
class Cursor(Generic[_K_co, _V_co]):
    def seek(self, key: Any, /) -> None: ...
    @property
    def key(self) -> _K_co | None: ...
    @property
    def value(self) -> _V_co | None: ...
    def scan_asc_next(self) -> tuple[_K_co, _V_co] | None: ...
    def scan_desc_next(self) -> tuple[_K_co, _V_co] | None: ...
    def scan_asc_next_many(self, limit: int, /) -> list[tuple[_K_co, _V_co]]: ...
    def scan_desc_next_many(self, limit: int, /) -> list[tuple[_K_co, _V_co]]: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...

@final
class Scan(Iterator[_T_co]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T_co: ...
    def _columns(self, most: int, /) -> tuple[int, list[bytes], list[bytes]] | None: ...
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
