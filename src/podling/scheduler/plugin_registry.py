"""The plugins that a profile can name: Kubernetes' own, and those that packages register.

A package registers a plugin by an entry point of the group ``podling.scheduler_plugins``: its name is the
plugin's, its value the class. It is imported once a configuration names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podling.scheduler.binding.default_binder import DefaultBinder
from podling.scheduler.binding.volume_binder import VolumeBinding
from podling.scheduler.framework import Plugin
from podling.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from podling.scheduler.plugins.default_preemption import DefaultPreemption
from podling.scheduler.plugins.gang_scheduling import GangScheduling
from podling.scheduler.plugins.image_locality import ImageLocality
from podling.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from podling.scheduler.plugins.node_affinity import NodeAffinity
from podling.scheduler.plugins.node_name import NodeName
from podling.scheduler.plugins.node_ports import NodePorts
from podling.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podling.scheduler.plugins.node_unschedulable import NodeUnschedulable
from podling.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from podling.scheduler.plugins.pod_topology_spread import PodTopologySpread
from podling.scheduler.plugins.priority_sort import PrioritySort
from podling.scheduler.plugins.scheduling_gates import SchedulingGates
from podling.scheduler.plugins.taint_toleration import TaintToleration
from podling.scheduler.plugins.volume_restrictions import VolumeRestrictions
from podling.scheduler.plugins.volume_zone import VolumeZone

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "podling.scheduler_plugins"

KUBERNETES: tuple[type[Plugin], ...] = (
    DefaultBinder,
    DefaultPreemption,
    GangScheduling,
    ImageLocality,
    InterPodAffinity,
    NodeAffinity,
    NodeName,
    NodePorts,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    NodeUnschedulable,
    NodeVolumeLimits,
    PodTopologySpread,
    PrioritySort,
    SchedulingGates,
    TaintToleration,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)

NOT_HERE = frozenset({"DynamicResources", "NodeDeclaredFeatures"})
"""Plugins of Kubernetes that decide about resources that Podling does not have."""


class PluginRefused(ValueError):
    """A plugin cannot be used; the text names it."""


class Registry:
    """Plugins by name.

    Args:
        installed: the entry points of packages; None looks for those that are installed.
    """

    def __init__(self, installed: tuple[EntryPoint, ...] | None = None) -> None:
        self._known: dict[str, type[Plugin]] = {each.name: each for each in KUBERNETES}
        self._installed = installed

    def find(self, name: str) -> type[Plugin] | None:
        """Return a plugin's class; None if there is no such plugin. Raises ``PluginRefused``."""
        if name not in self._known:
            if self._installed is None:
                self._installed = _installed()
            found = [each for each in self._installed if each.name == name]
            if not found:
                return None
            if len(found) > 1:
                raise PluginRefused(f"a plugin named {name} already exists")
            self._known[name] = _loaded(found[0])
        return self._known[name]


def _installed() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))


def _loaded(entry: EntryPoint) -> type[Plugin]:
    """Import a plugin. Raises ``PluginRefused``."""
    try:
        found = entry.load()
    except Exception as error:
        raise PluginRefused(f'loading plugin "{entry.name}" ({entry.value}): {error}') from error
    if not isinstance(found, type) or not issubclass(found, Plugin):
        raise PluginRefused(f'plugin "{entry.name}" ({entry.value}) is no podling.scheduler.framework.Plugin')
    if getattr(found, "name", "") != entry.name:
        raise PluginRefused(f'plugin "{entry.name}" ({entry.value}) calls itself "{found.name}"')
    return found
