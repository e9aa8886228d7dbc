"""The parts that enabled extensions add to the API server, the control plane and the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.start_failure import StartFailure
from podling.controllers.base import ControllerFactory
from podling.controllers.enabled_controllers import enabled, entries_of

if TYPE_CHECKING:
    from podling.apiserver.additions import Additions
    from podling.apiserver.admission.base import Plugin
    from podling.extensions.extension import Extension
    from podling.kubelet.node_controllers import NodeControllerFactory


def enabled_extensions(settings: ClusterSettings) -> Sequence[Extension]:
    """Return the extensions that the settings enable. Raises ``StartFailure`` where one is not installed."""
    return extensions_in(settings.extensions)


def extensions_in(entries: Sequence[str]) -> Sequence[Extension]:
    """Return the extensions of these entries. Raises ``StartFailure`` where one is not installed."""
    if not entries:
        return ()
    from podling.extensions.loading import UnknownExtension, extensions_of

    try:
        return extensions_of(entries)
    except UnknownExtension as error:
        raise StartFailure(str(error)) from error


def additions_of(settings: ClusterSettings) -> Additions:
    """Return the kinds and objects for the API server."""
    from podling.apiserver.additions import Additions

    found = enabled_extensions(settings)
    if not found:
        return Additions()
    from podling.extensions.additions import additions_from

    return additions_from(found)


def added_plugins(settings: ClusterSettings) -> Sequence[Plugin]:
    """Return the admission plugins for the API server."""
    return [plugin for each in enabled_extensions(settings) for plugin in each.admission_plugins()]


def added_controllers(settings: ClusterSettings) -> Sequence[ControllerFactory]:
    """Return the controllers for the control plane, but for those that ``--controllers`` switches off."""
    entries = entries_of(settings.controllers)
    found = (each.controllers() for each in enabled_extensions(settings))
    return [make for some in found for name, make in some.items() if enabled(name, entries)]


def added_node_controllers(extensions: Sequence[str]) -> Mapping[str, NodeControllerFactory]:
    """Return the controllers that the extensions of these entries run on every node, by name.

    Raises ``StartFailure`` where one is not installed.
    """
    found = (each.node_controllers() for each in extensions_in(extensions))
    return {name: make for some in found for name, make in some.items()}
