"""Clusters for tests: small, in memory, with time that the test winds, from the real parts.

Here belong the clusters that users' tests run on, in every language: in process, as a pytest plugin
(``pytest_plugin``), and as servers for other programs (``podling test-server``, ``podling envtest``). Fakes
do not: what a test talks to is the server itself. Nothing imports pytest but the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podling.testing.clusters import AsyncCluster, Cluster
    from podling.testing.control_plane import ControlPlane, memory_cluster
    from podling.testing.controllers import running
    from podling.testing.settings import TestSettings

__all__ = ["AsyncCluster", "Cluster", "ControlPlane", "TestSettings", "memory_cluster", "running"]

_HOMES = {
    "AsyncCluster": "clusters",
    "Cluster": "clusters",
    "ControlPlane": "control_plane",
    "TestSettings": "settings",
    "memory_cluster": "control_plane",
    "running": "controllers",
}


def __getattr__(name: str) -> Any:
    """Import what is used: pytest loads the plugin in every run, and most runs make no cluster."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
