"""Ports of probes and hooks by number or name."""

from __future__ import annotations

import pytest

from podling.kubelet.ports import UnknownPort, resolve_port
from tests.unit.kubelet.probes.servers import subject


@pytest.mark.parametrize(("port", "number"), [("web", 80), (8080, 8080), ("9090", 9090)])
def test_ports_resolve_by_number_or_name(port: int | str, number: int) -> None:
    assert resolve_port(port, subject().container) == number


@pytest.mark.parametrize("port", ["nope", 0, 70000, None])
def test_invalid_ports_are_refused(port: int | str | None) -> None:
    with pytest.raises(UnknownPort):
        resolve_port(port, subject().container)
