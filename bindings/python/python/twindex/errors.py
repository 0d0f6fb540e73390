"""The errors of Twindex.

Every class is an `Error`, and also the builtin that you would catch. `code` is the same in every language.

>>> import twindex
>>> try:
...     twindex.Store().table("users", index="btree")
... except ValueError as error:
...     print(error.code, "-", error)
TWINDEX_UNKNOWN_INDEX - unknown index "btree", it is "hash" or "sorted"
"""

from typing import ClassVar

__all__ = [
    "ArgumentTypeError",
    "CacheLimitError",
    "CapacityError",
    "CircleError",
    "ClosedError",
    "CodecNameError",
    "ConflictError",
    "CorruptError",
    "EncodingError",
    "EndedError",
    "Error",
    "ForeignTableError",
    "ForkedError",
    "InUseError",
    "InWriteError",
    "IntegerOverflowError",
    "IoError",
    "KeyTooLongError",
    "LogFailedError",
    "MemoryLimitError",
    "MissingFileError",
    "NoFileError",
    "NoLogError",
    "NoTableError",
    "NotAPositionError",
    "NotAnIntegerError",
    "NotSupportedError",
    "OptionError",
    "PairLengthError",
    "PositionGoneError",
    "ReadOnlyError",
    "TableDroppedError",
    "TableNameError",
    "TtlError",
    "UnexpectedError",
    "UnknownDurabilityError",
    "UnknownIndexError",
    "ValueTooLargeError",
    "WrongCodecError",
    "WrongExpiryError",
    "WrongIndexError",
]


class Error(Exception):
    """Any error of Twindex."""

    code: ClassVar[str] = "TWINDEX_ERROR"

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        if code is not None:
            cls.code = f"TWINDEX_{code}"


class ArgumentTypeError(Error, TypeError, code="TYPE"):
    """An argument of a type that the call, or the table's codec, does not take."""


class PairLengthError(ArgumentTypeError, ValueError):
    """A pair or a swap with a wrong number of items; for pairs `dict` raises `ValueError` too."""


class OptionError(Error, ValueError, code="RANGE"):
    """An option that is unknown, out of range, or in conflict with another."""


class ClosedError(Error, ValueError, code="CLOSED"):
    """A use of a store after it was closed, or of its tables or cursors."""


class ForkedError(Error, RuntimeError, code="FORKED"):
    """A use of a store, or of its tables or cursors, in a forked child of its process."""


class EncodingError(Error, ValueError, code="ENCODING"):
    """An object that the codec cannot encode, or stored bytes that it cannot decode."""


class KeyTooLongError(Error, ValueError, code="KEY_TOO_LONG"):
    """A key of more than `MAX_KEY_BYTES`."""


class ValueTooLargeError(Error, ValueError, code="VALUE_TOO_LARGE"):
    """A value of more than `MAX_VALUE_BYTES`."""


class TableNameError(Error, ValueError, code="TABLE_NAME"):
    """A table name that is empty or has more than `MAX_NAME_BYTES`."""


class WrongIndexError(Error, TypeError, code="WRONG_INDEX"):
    """A table of one index was opened or used as one of the other."""


class WrongCodecError(Error, TypeError, code="WRONG_CODEC"):
    """A table was opened with another codec than its own, or without a codec that you must name."""


class WrongExpiryError(Error, TypeError, code="WRONG_EXPIRY"):
    """The option `expires` contradicts the table."""


class CodecNameError(Error, ValueError, code="CODEC_NAME"):
    """The name of your codec is empty, too long, or the name of a codec of Twindex."""


class UnknownIndexError(Error, ValueError, code="UNKNOWN_INDEX"):
    """An index that is neither "hash" nor "sorted"."""


class NoTableError(Error, KeyError, code="NO_TABLE"):
    """`create=False` found no table of that name."""

    # A `KeyError` would show its message as a key, in quotes.
    __str__ = Exception.__str__


class TableDroppedError(Error, ValueError, code="TABLE_DROPPED"):
    """A write to a table that was dropped from its store."""


class MemoryLimitError(Error, MemoryError, code="MEMORY_LIMIT"):
    """A write that would take the store past its memory limit."""


class CacheLimitError(Error, ValueError, code="NO_ROOM"):
    """A pair that is too large for the cache; cachetools raises `ValueError` then."""


class CapacityError(Error, ValueError, code="CAPACITY"):
    """A cache without a limit, or with one that cannot hold a pair."""


class TtlError(Error, ValueError, code="TTL"):
    """A time to live or to idle that is zero or less, more than a thousand years, or not a number."""


class CircleError(Error, RuntimeError, code="CIRCLE"):
    """The computation of a cache's value waits for the same value."""


class EndedError(Error, ValueError, code="ENDED"):
    """A use of a snapshot or a transaction after its end, or of its tables or cursors."""


class ConflictError(Error, RuntimeError, code="CONFLICT"):
    """Others changed what a transaction read, in each of its runs. Nothing was written: run it again."""


class InWriteError(Error, RuntimeError, code="IN_WRITE"):
    """A transaction within another one of the same store."""


class NotSupportedError(Error, NotImplementedError, code="NOT_SUPPORTED"):
    """The store cannot do that: for example, clusters have no snapshots."""


class NotAnIntegerError(Error, ValueError, code="NOT_AN_INTEGER"):
    """A value that is not a decimal integer of 64 bits."""


class IntegerOverflowError(Error, OverflowError, code="OVERFLOW"):
    """An integer, or the result of `increment`, that does not fit into 64 bits."""


class CorruptError(Error, ValueError, code="CORRUPT"):
    """Bytes that are not a whole, undamaged dump."""


class InUseError(Error, OSError, code="IN_USE"):
    """Another store has the file open for writing, perhaps in another process."""


class LogFailedError(Error, OSError, code="LOG_FAILED"):
    """Writing to the disk failed, now or earlier. All later writes are refused. Reads go on."""


class ReadOnlyError(Error, PermissionError, code="READ_ONLY"):
    """A write to a store that was opened read-only, or to a table of a snapshot."""


class NoFileError(Error, ValueError, code="NO_FILE"):
    """The call needs a file, and the store is in memory."""


class PositionGoneError(Error, LookupError, code="POSITION_GONE"):
    """A position whose changes the file no longer has. `oldest` is the oldest position that it has."""

    def __init__(self, message: str, position: str = "", oldest: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.oldest = oldest


class NoLogError(Error, ValueError, code="NO_LOG"):
    """A use of positions or changes with durability "none": such a store has no log."""


class NotAPositionError(Error, ValueError, code="NOT_A_POSITION"):
    """A text that is not a position."""


class UnknownDurabilityError(Error, ValueError, code="UNKNOWN_DURABILITY"):
    """A durability other than "none", "everysec" and "always"."""


class ForeignTableError(Error, ValueError, code="FOREIGN_TABLE"):
    """A batch of one store was given a table of another."""


class UnexpectedError(Error, RuntimeError, code="UNEXPECTED"):
    """A value is not what a batch expects. Nothing was written."""


class IoError(Error, OSError, code="IO"):
    """Reading or writing a file failed. `errno` is set if the system has one."""


class MissingFileError(IoError, FileNotFoundError):
    """A missing file or folder."""


# A class that derives from another of these has its code.
_CLASSES = {kind.code: kind for kind in Error.__subclasses__()}
