"""Results of the function of `Table.alter` in place of a value."""

from enum import Enum
from typing import Final, Literal


class Returned(Enum):
    """`DELETE` or `KEEP`."""

    DELETE = "DELETE"
    KEEP = "KEEP"

    def __repr__(self) -> str:
        return f"twindex.{self.value}"


DELETE: Final[Literal[Returned.DELETE]] = Returned.DELETE
"""Removes the pair."""
KEEP: Final[Literal[Returned.KEEP]] = Returned.KEEP
"""Leaves everything as it is."""
