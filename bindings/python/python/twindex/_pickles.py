"""Pickles as keys of caches: the same bytes for equal keys."""

from __future__ import annotations

import copyreg
import dataclasses
import math
import numbers
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from pathlib import Path, PurePath, PureWindowsPath
from pickle import PickleBuffer, Pickler
from types import BuiltinFunctionType, EllipsisType, FunctionType, NoneType, NotImplementedType
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

_ATOMS: tuple[type, ...] = (
    str,
    bytes,
    NoneType,
    FunctionType,
    BuiltinFunctionType,
    EllipsisType,
    NotImplementedType,
)


def pickle_key(key: object) -> bytes:
    """The pickle of a key that `one_form` returned.

    A pickle refers back to an object that it has met before. So a tuple that has one string twice would have another
    pickle than one that has two equal strings. `fast` leaves that out.
    """
    file = BytesIO()
    pickler = Pickler(file, 5)
    pickler.fast = True
    pickler.dump(key)
    return file.getvalue()


def one_form(key: Any) -> Any:
    """The same object for all equal keys, or one with the same pickle, which loads as an equal object."""
    kind = type(key)
    if kind in _ATOMS or isinstance(key, type):
        return key
    if isinstance(key, (numbers.Number, Decimal)):
        return _number(key)
    for base, form in _FORMS.items():
        # A class may have an equality of its own.
        if isinstance(key, base) and kind.__eq__ is base.__eq__:
            return form(key)
    return _reduced(key)


class _Reduced:
    """Loads as what a `__reduce__` says."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> tuple[Any, ...]:
        return self.parts


def _number(key: Any) -> Any:
    if isinstance(key, numbers.Complex) and not isinstance(key, numbers.Real):
        real, imag = float(key.real), float(key.imag)
        # Zero has one sign.
        return _number(real) if imag == 0 else complex(real + 0.0, imag)
    if not isinstance(key, Decimal):
        if isinstance(key, numbers.Integral):
            return int(key)
        if isinstance(key, numbers.Rational):
            key = Fraction(int(key.numerator), int(key.denominator))
    # As a float, a large Decimal would be infinite.
    is_finite = (
        key.is_finite() if isinstance(key, Decimal) else isinstance(key, Fraction) or math.isfinite(key)
    )
    if not is_finite:
        return float(key)
    top, bottom = key.as_integer_ratio()
    if bottom == 1:
        return top
    try:
        near = top / bottom
    except OverflowError:
        return Fraction(top, bottom)
    return near if near.as_integer_ratio() == (top, bottom) else Fraction(top, bottom)


def _items(key: Any) -> list[Any]:
    return sorted(map(one_form, key), key=pickle_key)


def _dict(key: Any) -> dict[Any, Any]:
    pairs = [(one_form(name), one_form(value)) for name, value in key.items()]
    return dict(sorted(pairs, key=lambda pair: pickle_key(pair[0])))


def _moment(key: datetime) -> datetime:
    moment = datetime(key.year, key.month, key.day, key.hour, key.minute, key.second, key.microsecond)
    offset = key.utcoffset()
    return moment if offset is None else (moment - offset).replace(tzinfo=UTC)


def _time(key: time) -> time:
    if key.utcoffset() is not None:
        raise TypeError("a time of day with a time zone has no single form as a key")
    return time(key.hour, key.minute, key.second, key.microsecond)


def _path(key: PurePath) -> PurePath:
    kind = PureWindowsPath if isinstance(key, PureWindowsPath) else type(Path()).__mro__[1]
    text = str(key).lower() if kind is PureWindowsPath else str(key)
    return Path(text) if isinstance(Path(), kind) else kind(text)


def _range(key: range) -> range:
    match len(key):
        case 0:
            return range(0)
        case 1:
            return range(key[0], key[0] + 1)
        case count:
            return range(key[0], key[0] + count * key.step, key.step)


# By the classes whose equality these have.
_FORMS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bytes: bytes,
    bytearray: bytes,
    tuple: lambda key: tuple(map(one_form, key)),
    list: lambda key: list(map(one_form, key)),
    frozenset: lambda key: _Reduced(frozenset, (_items(key),)),
    set: lambda key: _Reduced(frozenset, (_items(key),)),
    dict: _dict,
    datetime: _moment,
    date: lambda key: date(key.year, key.month, key.day),
    time: _time,
    timedelta: lambda key: timedelta(key.days, key.seconds, key.microseconds),
    timezone: lambda key: timezone(key.utcoffset(None)),
    UUID: lambda key: UUID(int=key.int),
    PurePath: _path,
    range: _range,
}


def _new(kind: Any, *args: Any) -> Any:
    return kind.__new__(kind, *args)


def _new_by_name(kind: Any, args: Any, named: Any) -> Any:
    return kind.__new__(kind, *args, **named)


# A pickle has these two by the class of the object, which here is `_Reduced`.
_MAKERS = {copyreg.__newobj__: _new, copyreg.__newobj_ex__: _new_by_name}  # type: ignore[attr-defined]


def _reduced(key: Any) -> Any:
    """By its pickled state."""
    kind = type(key)
    if dataclasses.is_dataclass(kind) and not all(field.compare for field in dataclasses.fields(kind)):
        raise TypeError(f"{kind.__qualname__} has fields that its equality leaves out")
    if isinstance(key, PickleBuffer):
        raise TypeError("a PickleBuffer is no key")
    reduce = copyreg.dispatch_table.get(kind)
    made = key.__reduce_ex__(4) if reduce is None else reduce(key)
    # A name: that of an object in a module.
    if isinstance(made, str):
        return key
    make, args, state, items, pairs, *setter = (*made, None, None, None)[:6]
    items = None if items is None else iter(list(map(one_form, items)))
    # In their order, by which two OrderedDicts differ.
    pairs = None if pairs is None else iter([(one_form(name), one_form(value)) for name, value in pairs])
    return _Reduced(
        _MAKERS.get(make, make), one_form(args), one_form(state), items, pairs, *filter(None, setter)
    )
