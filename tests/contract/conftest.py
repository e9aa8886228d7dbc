"""Contracts of runtimes are told in files that are no test modules; their asserts explain themselves too."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "tests.contract.runtime_lives", "tests.contract.runtime_programs", "tests.contract.runtime_streams"
)
