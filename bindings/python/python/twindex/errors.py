"""What can go wrong, and with what.

Every class is an `Error` and also the builtin that a caller would catch. `code` names the kind of error, and
is the same in every language.

>>> import twindex
>>> try:
...     twindex.Store().table("users", index="btree")
... except ValueError as error:
...     print(error.code, "-", error)
TWINDEX_UNKNOWN_INDEX - unknown index "btree", it is "hash" or "sorted"
"""

from typing import ClassVar


class Error(Exception):
    """Any error of Twindex."""

    code: ClassVar[str] = "TWINDEX_ERROR"


class ArgumentTypeError(Error, TypeError):
    """An argument of a type that the call, or the table's codec, does not take."""

    code = "TWINDEX_TYPE"


class PairLengthError(ArgumentTypeError, ValueError):
    """A pair or a swap in a batch with more or fewer items than it has; for pairs `dict` raises `ValueError` too."""


class OptionError(Error, ValueError):
    """An option that is unknown, out of range, or in conflict with another."""

    code = "TWINDEX_RANGE"


class ClosedError(Error, ValueError):
    """A use of a store after it was closed, or of its tables or cursors."""

    code = "TWINDEX_CLOSED"


class ForkedError(Error, RuntimeError):
    """A use of a store, or of its tables or cursors, in a process that was forked from the one that has it."""

    code = "TWINDEX_FORKED"


class EncodingError(Error, ValueError):
    """Something that its codec cannot encode, or stored bytes that it cannot decode."""

    code = "TWINDEX_ENCODING"


class KeyTooLongError(Error, ValueError):
    """A key of more than `MAX_KEY_BYTES`."""

    code = "TWINDEX_KEY_TOO_LONG"


class ValueTooLargeError(Error, ValueError):
    """A value of more than `MAX_VALUE_BYTES`."""

    code = "TWINDEX_VALUE_TOO_LARGE"


class TableNameError(Error, ValueError):
    """A table name that is empty or has more than `MAX_NAME_BYTES`."""

    code = "TWINDEX_TABLE_NAME"


class WrongIndexError(Error, TypeError):
    """A table that has one index was asked for as, or used as if it had, the other."""

    code = "TWINDEX_WRONG_INDEX"


class WrongCodecError(Error, TypeError):
    """A table whose keys or values have one codec was asked for with another, or has one that is to be named."""

    code = "TWINDEX_WRONG_CODEC"


class CodecNameError(Error, ValueError):
    """A name of a codec of your own that is empty, has more than `MAX_NAME_BYTES`, or means a codec of Twindex."""

    code = "TWINDEX_CODEC_NAME"


class UnknownIndexError(Error, ValueError):
    """An index that is neither "hash" nor "sorted"."""

    code = "TWINDEX_UNKNOWN_INDEX"


class NameInUseError(Error, ValueError):
    """A table was asked for under the name of a cache, or a cache under that of a table."""

    code = "TWINDEX_NAME_IN_USE"


class NoTableError(Error, KeyError):
    """A table that is not there was asked for with `create=False`."""

    code = "TWINDEX_NO_TABLE"

    # A `KeyError` would show its message as a key, in quotes.
    __str__ = Exception.__str__


class TableDroppedError(Error, ValueError):
    """A write to a table that was dropped from its store."""

    code = "TWINDEX_TABLE_DROPPED"


class MemoryLimitError(Error, MemoryError):
    """A write that would take the store past its memory limit."""

    code = "TWINDEX_MEMORY_LIMIT"


class CacheLimitError(MemoryLimitError, ValueError):
    """A pair that does not fit into a cache, even if all others go; cachetools raises `ValueError` then."""


class NotAnIntegerError(Error, ValueError):
    """A value that is not a decimal integer of 64 bits."""

    code = "TWINDEX_NOT_AN_INTEGER"


class IntegerOverflowError(Error, OverflowError):
    """An integer, or the result of `increment`, that does not fit into 64 bits."""

    code = "TWINDEX_OVERFLOW"


class CorruptError(Error, ValueError):
    """Bytes that are not a whole, undamaged dump."""

    code = "TWINDEX_CORRUPT"


class InUseError(Error, OSError):
    """A file that another process, or another store of this one, has open for writing."""

    code = "TWINDEX_IN_USE"


class LogFailedError(Error, OSError):
    """A write after writing to the disk had failed: nothing more can be kept, what is in memory can be read."""

    code = "TWINDEX_LOG_FAILED"


class ReadOnlyError(Error, PermissionError):
    """A write to a store that was opened for reading alone."""

    code = "TWINDEX_READ_ONLY"


class NoFileError(Error, ValueError):
    """A use of the file of a store that has none."""

    code = "TWINDEX_NO_FILE"


class PositionGoneError(Error, LookupError):
    """A position whose changes the file no longer has. `oldest` is the oldest position that it has."""

    code = "TWINDEX_POSITION_GONE"

    def __init__(self, message: str, position: str = "", oldest: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.oldest = oldest


class NoLogError(Error, ValueError):
    """A position in a file that has no log, since its durability is "none"."""

    code = "TWINDEX_NO_LOG"


class NotAPositionError(Error, ValueError):
    """A text that is no position of a store."""

    code = "TWINDEX_NOT_A_POSITION"


class UnknownDurabilityError(Error, ValueError):
    """A durability that is neither "none" nor "everysec" nor "always"."""

    code = "TWINDEX_UNKNOWN_DURABILITY"


class ForeignTableError(Error, ValueError):
    """A batch of one store was given a table of another."""

    code = "TWINDEX_FOREIGN_TABLE"


class UnexpectedError(Error, RuntimeError):
    """What a batch expected is not so: another wrote meanwhile. Nothing of the batch was done."""

    code = "TWINDEX_UNEXPECTED"


class IoError(Error, OSError):
    """A file that could not be read or written; `errno` tells why where that is known."""

    code = "TWINDEX_IO"


class MissingFileError(IoError, FileNotFoundError):
    """A file, or the folder for one, that is not there."""


_CLASSES = {kind.code: kind for kind in Error.__subclasses__()}


def class_of(code: str) -> type[Error]:
    """The class with this code."""
    return _CLASSES.get(code, Error)
