"""Runs transactions, again where they met a conflict."""

from __future__ import annotations

import time
from contextvars import ContextVar
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from .errors import ArgumentTypeError, ConflictError, InWriteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._twindex import Store, Transaction

T = TypeVar("T")

# A transaction is run so often, as in every language.
RUNS = 1000
CONFLICT = f"others changed what the transaction read, in each of {RUNS} runs"

NESTED = "a transaction of this store is running: write with it, or end it first"

# The transactions in whose blocks this thread or task is. One whose block a signal's handler kept from beginning is in none.
_running: ContextVar[tuple[ref[Transaction], ...]] = ContextVar("_running", default=())


def enter(transaction: Transaction) -> None:
    """Refuses a transaction within another of its store."""
    begun = _running.get()
    if any(other() is transaction for other in begun):
        # The block in which it runs ends it.
        raise InWriteError(NESTED)
    try:
        running = [one for other in begun if (one := other()) is not None and not one.closed]
        if any(other._of == transaction._of for other in running):
            raise InWriteError(NESTED)
        _running.set((*map(ref, running), ref(transaction)))
    except BaseException:
        # The block does not begin, and so does not end it.
        transaction.close()
        raise


def leave(transaction: Transaction) -> None:
    """Forgets a transaction that has ended."""
    _running.set(tuple(other for other in _running.get() if other() is not transaction))


def run(store: Store, function: Callable[[Transaction], T]) -> T:
    """What `Store.transaction` does with a function."""
    for _ in range(RUNS):
        transaction = store.transaction()
        try:
            with transaction:
                value = function(transaction)
                if isawaitable(value):
                    _refuse(value)
                return value
        except Exception:
            if not transaction._has_conflict:
                raise
        # The others have a turn.
        time.sleep(0)
    raise ConflictError(CONFLICT)


def _refuse(value: Any) -> None:
    if close := getattr(value, "close", None):
        # Nobody complains of a coroutine that was never awaited.
        close()
    raise ArgumentTypeError(
        f"the function of a transaction must not return an awaitable, as twindex.aio.transaction takes: {value!r}"
    )
