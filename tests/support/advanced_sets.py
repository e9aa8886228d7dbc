"""Advanced StatefulSets and DaemonSets beside an API server in memory with OpenKruise."""

from __future__ import annotations

from typing import Any, ClassVar

from podling.client.typed_kinds import typed
from podling_kruise.daemonset.types import DaemonSet
from podling_kruise.statefulset.types import StatefulSet
from tests.support.clone_sets import LABELS, Kruise, template

GATE: dict[str, Any] = {"readinessGates": [{"conditionType": "InPlaceUpdateReady"}]}


def stateful(version: str = "v1beta1", **spec: Any) -> dict[str, Any]:
    """Return a StatefulSet ``web`` of pods from ``template``; further fields of its spec by name."""
    made = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {
        "apiVersion": f"apps.kruise.io/{version}",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": made,
    }


def rolling(policy: str = "ReCreate", **fields: Any) -> dict[str, Any]:
    """Return an update strategy."""
    return {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": policy, **fields}}


class StatefulSets(Kruise):
    plural: ClassVar[str] = "statefulsets"
    version: ClassVar[str] = "v1beta1"

    async def stored(self) -> StatefulSet:
        """Return the StatefulSet as it is stored."""
        return typed(await self.plane.client.get(self.kind("v1beta1"), "web", "default"), StatefulSet)

    async def names(self) -> list[str]:
        return [pod.metadata.name or "" for pod in await self.pods()]


def daemon(version: str = "v1beta1", **spec: Any) -> dict[str, Any]:
    """Return a DaemonSet ``web`` of pods from ``template``; further fields of its spec by name."""
    made = {"selector": {"matchLabels": LABELS}, "template": template(), **spec}
    return {**stateful(version), "kind": "DaemonSet", "spec": made}


def daemon_rolling(kind: str = "Standard", **fields: Any) -> dict[str, Any]:
    """Return an update strategy of a DaemonSet."""
    return {"type": "RollingUpdate", "rollingUpdate": {"rollingUpdateType": kind, **fields}}


class DaemonSets(Kruise):
    plural: ClassVar[str] = "daemonsets"
    version: ClassVar[str] = "v1beta1"

    async def stored(self) -> DaemonSet:
        """Return the DaemonSet as it is stored."""
        return typed(await self.plane.client.get(self.kind("v1beta1"), "web", "default"), DaemonSet)
