"""Plugins by name: Kubernetes' own, and those that packages register."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from podling.scheduler.framework import Plugin
from podling.scheduler.plugin_registry import GROUP, PluginRefused, Registry
from podling.scheduler.plugins.node_name import NodeName


class Own(Plugin):
    name = "Own"


class Impostor(Plugin):
    name = "Other"


class NoPlugin:
    name = "NoPlugin"


def registry(*entries: tuple[str, str]) -> Registry:
    return Registry(tuple(EntryPoint(name, f"{__name__}:{value}", GROUP) for name, value in entries))


def test_plugins_are_found_by_name() -> None:
    found = registry(("Own", "Own"))
    assert found.find("NodeName") is NodeName
    assert found.find("Own") is Own
    assert found.find("Unknown") is None


def test_package_takes_no_name_of_kubernetes() -> None:
    assert registry(("NodeName", "Own")).find("NodeName") is NodeName


@pytest.mark.parametrize(
    ("name", "entries", "text"),
    [
        ("Impostor", ["Impostor"], f'plugin "Impostor" ({__name__}:Impostor) calls itself "Other"'),
        (
            "NoPlugin",
            ["NoPlugin"],
            f'plugin "NoPlugin" ({__name__}:NoPlugin) is no podling.scheduler.framework.Plugin',
        ),
        (
            "Absent",
            ["Absent"],
            f"loading plugin \"Absent\" ({__name__}:Absent): module '{__name__}' has no attribute 'Absent'",
        ),
        ("Own", ["Own", "Impostor"], "a plugin named Own already exists"),
    ],
)
def test_plugin_that_cannot_be_used_is_refused(name: str, entries: list[str], text: str) -> None:
    with pytest.raises(PluginRefused) as refused:
        registry(*((name, value) for value in entries)).find(name)
    assert str(refused.value) == text
