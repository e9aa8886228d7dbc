"""The command line option that pytest-kind adds."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Accept ``--keep-cluster``; the cluster is kept in any case."""
    parser.addoption("--keep-cluster", action="store_true")
