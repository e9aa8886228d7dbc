"""The parts that a cluster's settings enable."""

from __future__ import annotations

import sys
from subprocess import run

import pytest

from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.enabled_extensions import added_controllers, added_plugins, additions_of
from podling.cluster.start_failure import StartFailure

KRUISE = ClusterSettings(extensions=("kruise",))


def test_enabled_extension_adds_to_each_part() -> None:
    names = [each.metadata.name for each in additions_of(KRUISE).definitions]
    assert "clonesets.apps.kruise.io" in names
    assert "CloneSet" in [each.name for each in added_plugins(KRUISE)]
    assert added_controllers(KRUISE)


def test_controllers_of_extensions_can_be_switched_off() -> None:
    off = ClusterSettings(extensions=("kruise",), controllers="*,-cloneset-controller")
    assert len(added_controllers(off)) == len(added_controllers(KRUISE)) - 1


def test_cluster_without_extensions_has_no_additions() -> None:
    none = ClusterSettings()
    assert (list(additions_of(none).definitions), added_plugins(none), added_controllers(none)) == (
        [],
        [],
        [],
    )


def test_cluster_with_an_extension_that_is_not_installed_does_not_start() -> None:
    with pytest.raises(StartFailure, match='extension "nonsense" is not installed'):
        added_plugins(ClusterSettings(extensions=("nonsense",)))


def test_cluster_without_extensions_loads_nothing_of_them() -> None:
    code = """
import sys
import podling.cluster.cluster, podling.cli.up
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.enabled_extensions import added_controllers, added_plugins, additions_of
for part in (added_controllers, added_plugins, additions_of):
    part(ClusterSettings())
print([name for name in sys.modules if name.startswith(("podling_kruise", "podling.extensions.loading"))])
"""
    done = run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
