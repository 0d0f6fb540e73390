"""Finds the package for clusters."""

from types import ModuleType


def cluster() -> ModuleType:
    """The package `twindex_cluster`."""
    try:
        import twindex_cluster
    except ModuleNotFoundError as error:
        if error.name != "twindex_cluster":
            raise
        msg = "tables in a cluster are in a package of their own: pip install twindex-cluster"
        raise ModuleNotFoundError(msg, name="twindex_cluster") from None
    package: ModuleType = twindex_cluster
    return package
