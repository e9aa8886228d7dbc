"""Names of a process' nodes."""

from __future__ import annotations

import platform

import pytest

from podling.node.machine import node_names


@pytest.mark.parametrize(
    ("machine", "count", "names"),
    [("Box", 1, ["box"]), ("box", 3, ["box", "box-2", "box-3"]), ("", 1, ["localhost"]), ("box", 0, [])],
)
def test_nodes_are_named_after_the_machine(
    monkeypatch: pytest.MonkeyPatch, machine: str, count: int, names: list[str]
) -> None:
    monkeypatch.setattr(platform, "node", lambda: machine)
    assert node_names(count) == names
