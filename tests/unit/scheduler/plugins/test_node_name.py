"""The NodeName plugin."""

from __future__ import annotations

import pytest

from podling.scheduler.plugins import node_name
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    facts,
    node,
)


@pytest.mark.parametrize(
    ("asked", "taken"), [("", ["a", "b"]), ("b", ["b"]), ("elsewhere", [])], ids=["any", "one", "unknown"]
)
def test_a_pod_that_names_its_node(asked: str, taken: list[str]) -> None:
    cache = cache_of(node("a"), node("b"))
    assert accepted(node_name.NodeName(), facts(node_name=asked or None), cache) == taken
