"""The additions of several extensions to one server."""

from __future__ import annotations

from podling.extensions.additions import additions_from
from podling.extensions.extension import Extension
from podling_kruise.extension import KruiseExtension


def test_extensions_are_put_together() -> None:
    found = additions_from([Extension(), KruiseExtension()])
    names = [each.metadata.name for each in found.definitions]
    assert set(found.converters) <= set(names)
    assert {each.metadata.name for each in found.objects} >= {"kruise-view", "kruise-edit"}
