"""A directory for deep trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.files.trees import remove_tree


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A directory for trees that are too deep for other tools to remove."""
    place = tmp_path / "deep"
    place.mkdir()
    yield place
    remove_tree(place)
