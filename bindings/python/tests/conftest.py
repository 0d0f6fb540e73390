"""Fixtures that several files of tests share."""

from pathlib import Path

import pytest

from support import Index


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store's file is to be."""
    return tmp_path / "app.twx"


@pytest.fixture(params=["hash", "sorted"])
def index(request: pytest.FixtureRequest) -> Index:
    """Each index in turn."""
    found: Index = request.param
    return found
