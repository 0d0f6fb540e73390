"""What can go wrong with a cluster store, beside what can with any.

Every class is a `twindex.Error` and also the builtin that a caller would catch.

>>> import twindex_cluster
>>> try:
...     twindex_cluster.connect("http://localhost")
... except ValueError as error:
...     print(error.code)
TWINDEX_URL
"""

import twindex.errors
from twindex.errors import Error


class UrlError(Error, ValueError):
    """A URL that cannot be used."""

    code = "TWINDEX_URL"


class UnavailableError(Error, ConnectionError):
    """No server took the command in time: it was not done."""

    code = "TWINDEX_UNAVAILABLE"


class UnknownOutcomeError(Error, ConnectionError):
    """A write was sent and no answer came: it may be done or not."""

    code = "TWINDEX_UNKNOWN_OUTCOME"


class NotReplicatedError(Error, ConnectionError):
    """A write is done, and fewer replicas than `replicas` had it in time: it is lost if its server dies now."""

    code = "TWINDEX_NOT_REPLICATED"


class PartlyDoneError(Error, ConnectionError):
    """A `_many` form, or `update`, that wrote some of its items, or may have, and not all.

    `outcomes` has for each item what it answered, or an error. An item with an error is not written, but for
    `UnknownOutcomeError` and `NotReplicatedError`.
    """

    code = "TWINDEX_PARTLY_DONE"
    outcomes: "list[bool | int | Error]"


class BugError(Error, RuntimeError):
    """A fault of Twindex itself. A write that was under way may be done or not."""

    code = "TWINDEX_BUG"


class CrossSlotError(Error, ValueError):
    """A batch whose keys lie in several slots of the cluster: no server can do it in one step."""

    code = "TWINDEX_CROSS_SLOT"


class RefusedError(Error, RuntimeError):
    """The server refused the command, for example for want of memory or of permission."""

    code = "TWINDEX_REFUSED"


_known = [vars(twindex.errors), globals()]
_classes = {
    kind.code: kind
    for names in _known
    for kind in names.values()
    if isinstance(kind, type) and issubclass(kind, Error) and "code" in vars(kind)
}


def of_code(code: str, message: str, outcomes: "list[bool | int | Error] | None" = None) -> Error:
    """The exception that has this code."""
    error = _classes.get(code, Error)(message)
    if isinstance(error, PartlyDoneError) and outcomes is not None:
        error.outcomes = outcomes
    return error
