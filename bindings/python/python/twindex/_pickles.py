"""Pickles as keys of caches."""

from io import BytesIO
from pickle import Pickler


def pickle_key(key: object) -> bytes:
    """The pickle of a key, the same for equal keys.

    A pickle refers back to an object that it has met before. So a tuple that has one string twice would have another
    pickle than one that has two equal strings. `fast` leaves that out.
    """
    file = BytesIO()
    pickler = Pickler(file, 5)
    pickler.fast = True
    pickler.dump(key)
    return file.getvalue()
