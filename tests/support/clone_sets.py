"""CloneSets beside an API server in memory with OpenKruise, and a simulated node for their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from podling import clock
from podling.api.core_v1 import Pod, PodCondition
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.client.typed_kinds import TypedClient
from podling.machinery.conditions import find
from podling.machinery.encoding import codec
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane, memory_cluster, running
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.extension import KruiseExtension
from podling_kruise.names import IN_PLACE_UPDATE_READY
from tests.support.control_loops import told
from tests.support.kubelet_node import NODE, SimNode, sim_node

LABELS = {"app": "web"}


def template(image: str = "web:1", **spec: Any) -> dict[str, Any]:
    """Return the template of pods with one container on the simulated node."""
    containers = [{"name": "main", "image": image}]
    return {
        "metadata": {"labels": dict(LABELS)},
        "spec": {"nodeName": NODE, "containers": containers, **spec},
    }


def manifest(version: str = "v1alpha1", **spec: Any) -> dict[str, Any]:
    """Return a CloneSet ``web`` of pods from ``template``; further fields of its spec by name."""
    made = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {
        "apiVersion": f"apps.kruise.io/{version}",
        "kind": "CloneSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": made,
    }


class Kruise:
    """A cluster with OpenKruise, and a workload ``web`` in it: a CloneSet, or another kind in a subclass."""

    plural: ClassVar[str] = "clonesets"
    version: ClassVar[str] = "v1alpha1"

    def __init__(self, plane: ControlPlane, node: SimNode | None = None) -> None:
        self.plane, self.client = plane, TypedClient(plane.client)
        self._node = node

    @property
    def node(self) -> SimNode:
        assert self._node is not None
        return self._node

    def kind(self, version: str = "v1alpha1") -> type[Any]:
        """Return the type of workloads that the server has in a version."""
        found = self.plane.server.catalogue.by_path("apps.kruise.io", version, self.plural)
        assert found is not None
        return found.type

    async def create(self, plain: Mapping[str, Any], field_validation: str = "Strict") -> list[str]:
        """Create a workload as a client of HTTP does; return the warnings."""
        kind = self.kind(plain["apiVersion"].partition("/")[2])
        obj, warnings = codec.convert(dict(plain), kind, field_validation)
        options = WriteOptions(field_validation=field_validation, warnings=warnings)
        await self.plane.backend.create(Target(kind.custom_resource, "default"), SYSTEM, obj, options)
        return options.warnings

    async def patch(self, version: str = "v1alpha1", **spec: Any) -> None:
        await self.plane.client.patch(self.kind(version), "web", {"spec": spec}, "default")

    async def change(self, image: str, **spec: Any) -> None:
        """Change the template's image."""
        await self.patch(self.version, template=template(image, **spec))

    async def get(self) -> CloneSet:
        return await self.client.get(CloneSet, "web", "default")

    async def pods(self) -> list[Pod]:
        """Return the pods that are not being deleted, in the order of names."""
        found = (await self.plane.client.list(Pod, "default", label_selector="app=web")).items
        return [pod for pod in found if pod.metadata.deletion_timestamp is None]

    async def images(self) -> dict[str, int]:
        """Return the number of pods with each image of ``main``."""
        counts: dict[str, int] = {}
        for pod in await self.pods():
            image = pod.spec.containers[0].image
            counts[image] = counts.get(image, 0) + 1
        return counts

    async def events(self) -> list[str]:
        """Return the reasons of the workload's events."""
        return [text.split()[1] for text in await told(self.plane.client) if " web: " in text]

    async def wait(self, seconds: float = 20) -> None:
        await clock.sleep(seconds)


def gate(pod: Pod) -> PodCondition | None:
    """Return the condition of the readiness gate of in-place updates."""
    return find(pod.status.conditions, IN_PLACE_UPDATE_READY)


K = TypeVar("K", bound=Kruise)


@asynccontextmanager
async def api_of(harness: type[K], **features: bool) -> AsyncIterator[K]:
    """Run an API server with OpenKruise, without its controllers."""
    async with memory_cluster(extensions=[KruiseExtension(features)]) as plane:
        yield harness(plane)


def kruise_api(**features: bool) -> AbstractAsyncContextManager[Kruise]:
    return api_of(Kruise, **features)


def kruise_cluster(
    root: Path, scenario: Scenario | None = None, **features: bool
) -> AbstractAsyncContextManager[Kruise]:
    return cluster_of(Kruise, root, scenario, **features)


@asynccontextmanager
async def cluster_of(
    harness: type[K], root: Path, scenario: Scenario | None = None, **features: bool
) -> AsyncIterator[K]:
    """Run a control plane with OpenKruise and a simulated node."""
    extension = KruiseExtension(features)
    async with (
        memory_cluster(extensions=[extension]) as plane,
        sim_node(plane, root, scenario, node_controllers=extension.node_controllers()) as node,
        running(plane.client, *extension.controllers().values()),
    ):
        yield harness(plane, node)
