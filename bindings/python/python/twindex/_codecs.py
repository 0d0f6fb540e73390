"""Codecs that a program defines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from .errors import ArgumentTypeError, CodecNameError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

T = TypeVar("T")

# `twindex.MAX_NAME_BYTES`. The compiled module imports this one, so it is not imported here.
_MAX_NAME_BYTES = 255

# Names of codecs of any language: your own cannot have them.
_TAKEN = frozenset({"bytes", "str", "int", "tuple", "json", "msgpack", "pickle", "object", "bigint", "view"})


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """Your own codec: a name, a function that makes bytes of an object, and one that makes the object again.

    A table remembers the name. A program that opens it later, in any language, passes a codec of that name.

    Sorted tables order by the bytes. `encode` must return equal bytes for equal keys.

    >>> from datetime import date
    >>> import twindex
    >>> days = twindex.Codec("iso-date", lambda day: day.isoformat().encode(), lambda raw: date.fromisoformat(raw.decode()))
    >>> births = twindex.Store().table("births", index="sorted", keys=days)
    >>> births[date(1815, 12, 10)] = "ada"
    >>> list(births)
    [datetime.date(1815, 12, 10)]
    """

    name: str
    encode: Callable[[T], Buffer]
    decode: Callable[[bytes], T]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ArgumentTypeError(
                f"the name of a codec must be str, not {type(self.name).__name__}: {self.name!r}"
            )
        if self.name in _TAKEN:
            raise CodecNameError(f"your codec must not have the name of a codec of Twindex: {self.name!r}")
        size = len(self.name.encode("utf-8", "surrogatepass"))
        if not 1 <= size <= _MAX_NAME_BYTES:
            raise CodecNameError(
                f"a codec name has 1 to {_MAX_NAME_BYTES} bytes, this one has {size}: {self.name!r:.64}"
            )
        for role in ("encode", "decode"):
            function = getattr(self, role)
            if not callable(function):
                raise ArgumentTypeError(
                    f"{role} must be callable, not {type(function).__name__}: {function!r}"
                )
