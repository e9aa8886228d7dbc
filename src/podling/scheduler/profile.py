"""The default profile: Kubernetes' plugins in Kubernetes' order.

The order of filters decides which reason a node is rejected for. Of the volume plugins VolumeBinding is
among them; the others, and dynamic resources, have nothing to look at here.
"""

from __future__ import annotations

from podling.scheduler.framework import Plugin
from podling.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from podling.scheduler.plugins.image_locality import ImageLocality
from podling.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from podling.scheduler.plugins.node_affinity import NodeAffinity
from podling.scheduler.plugins.node_name import NodeName
from podling.scheduler.plugins.node_ports import NodePorts
from podling.scheduler.plugins.node_resources_fit import NodeResourcesFit
from podling.scheduler.plugins.node_unschedulable import NodeUnschedulable
from podling.scheduler.plugins.pod_topology_spread import PodTopologySpread
from podling.scheduler.plugins.taint_toleration import TaintToleration
from podling.scheduler.plugins.volume_binding import VolumeBinding

DEFAULT_PLUGINS: tuple[Plugin, ...] = (
    NodeUnschedulable(),
    NodeName(),
    TaintToleration(),
    NodeAffinity(),
    NodePorts(),
    NodeResourcesFit(),
    VolumeBinding(),
    PodTopologySpread(),
    InterPodAffinity(),
    NodeResourcesBalancedAllocation(),
    ImageLocality(),
)

BY_NAME = {plugin.name: plugin for plugin in DEFAULT_PLUGINS}
