"""Finds the package for clusters."""

from importlib.metadata import entry_points
from types import ModuleType

_GROUP = "twindex.cluster"


def cluster() -> ModuleType:
    """The package that says of itself that it has the stores in a cluster: this package knows none by name."""
    for point in entry_points(group=_GROUP):
        package: ModuleType = point.load()
        return package
    msg = "tables in a cluster are in a package of their own: pip install twindex-cluster"
    raise ModuleNotFoundError(msg, name="twindex_cluster")
