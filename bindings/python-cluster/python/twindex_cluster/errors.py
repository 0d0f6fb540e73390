"""The errors that only stores in a cluster raise.

Every class is a `twindex.Error`, and also the builtin that you would catch.

>>> import twindex_cluster
>>> try:
...     twindex_cluster.connect("http://localhost")
... except ValueError as error:
...     print(error.code)
TWINDEX_URL
"""

from twindex.errors import Error


class UrlError(Error, ValueError, code="URL"):
    """A URL that cannot be used."""


class UnavailableError(Error, ConnectionError, code="UNAVAILABLE"):
    """No server took the command in time: it was not done."""


class UnknownOutcomeError(Error, ConnectionError, code="UNKNOWN_OUTCOME"):
    """A write was sent and no answer came: it may be done or not."""


class NotReplicatedError(Error, ConnectionError, code="NOT_REPLICATED"):
    """A write is done, and fewer replicas than `replicas` had it in time: it is lost if its server dies now."""


class PartlyDoneError(Error, ConnectionError, code="PARTLY_DONE"):
    """A `_many` form, or `update`, wrote some items, and failed or may have failed for others.

    `outcomes` has the result or the error of each item. An item with an error is not written, except with
    `UnknownOutcomeError` (perhaps) and `NotReplicatedError` (it is).
    """

    outcomes: "list[bool | int | Error]"


class BugError(Error, RuntimeError, code="BUG"):
    """A fault of Twindex itself. A write that was under way may be done or not."""


class CrossSlotError(Error, ValueError, code="CROSS_SLOT"):
    """A batch whose keys lie in several slots of the cluster: no server can do it in one step."""


class RefusedError(Error, RuntimeError, code="REFUSED"):
    """A server refused the command, for example for lack of memory or permission."""


_classes = {kind.code: kind for kind in Error.__subclasses__()}


def of_code(code: str, message: str, outcomes: "list[bool | int | Error] | None" = None) -> Error:
    """The exception that has this code."""
    error = _classes.get(code, Error)(message)
    if isinstance(error, PartlyDoneError) and outcomes is not None:
        error.outcomes = outcomes
    return error
