"""The nodes of a cluster: which ones there are to be, and how all their containers are ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import structs

from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.identity import Standing
from podling.cluster.joined import settings as joined_settings
from podling.controllers.enabled_controllers import enabled_names
from podling.node.machine import node_addresses, node_names
from podling.node.runtimes import NodePlan, end_all
from podling.runtime.images.store import ImageStore


def node_plans(directory: DataDirectory, settings: ClusterSettings) -> list[NodePlan]:
    """Return a plan per node, in order: the first has the machine's own name and runs the static pods."""
    ranges = settings.ranges()
    pods = ranges.pods
    addresses = node_addresses(pods, settings.node_ip, settings.advertise_address)
    static_pod_path = Path(settings.static_pod_path) if settings.static_pod_path else None
    assigns_blocks = "node-ipam-controller" in enabled_names(settings.controllers)
    return [
        NodePlan(
            name=name,
            index=index,
            runtime=settings.runtime,
            root=directory.node(name),
            cluster_id=directory.id,
            address=addresses[0],
            second_address=addresses[1] if len(addresses) > 1 else "",
            pod_ranges=pods,
            pod_prefixes=ranges.node_prefixes,
            static_pod_path=None if index else static_pod_path,
            assigns_blocks=assigns_blocks,
            network=settings.network,
            guards_api=not settings.advertise_address,
            cni_conf_dir=Path(settings.cni_conf_dir) if settings.cni_conf_dir else None,
            options=settings.node_options,
        )
        for index, name in enumerate(node_names(settings.nodes, settings.hostname_override))
    ]


async def end_all_containers(directory: DataDirectory, grace_seconds: float) -> int:
    """End the pods that a cluster without a process has left running. Return their number.

    The nodes end their pods at the same time; a failure of one does not stop the others.
    A copy of a data directory has left nothing running: its records are of another cluster's containers.
    Raises ``RuntimeFailure`` or ``DirectoryUnusable``.
    """
    if directory.standing() is Standing.COPIED:
        return 0
    images = ImageStore(directory.images)
    ending = (end_all(plan, images, grace_seconds) for plan in _plans_of(directory))
    results = await asyncio.gather(*ending, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return sum(result for result in results if isinstance(result, int))


def _plans_of(directory: DataDirectory) -> list[NodePlan]:
    """Return a plan for every node that may have containers. Raises ``DirectoryUnusable``."""
    joined = joined_settings.read(directory)
    if joined is not None:
        return [joined_settings.node_plan(directory, joined)]
    settings = directory.settings()
    if not settings.runtime:
        return []
    # An earlier run may have had more nodes than the last one.
    every = structs.replace(settings, nodes=max(settings.nodes, len(directory.node_names())))
    return node_plans(directory, every)
