"""Writes of pods that workloads share: lifecycle states and chosen deletion.

Upstream: ``UpdatePodLifecycle`` of ``pkg/util/lifecycle``, ``pkg/util/specifieddelete``.
"""

from __future__ import annotations

from typing import Any

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import ApiObject, Client, key_of
from podling.controllers.children import Children
from podling_kruise.common_types import LifecycleHook
from podling_kruise.lifecycle import state_of, state_patch, with_readiness_of
from podling_kruise.names import SPECIFIED_DELETE


class PodWrites:
    """Writes pods of the owners that ``children`` knows."""

    def __init__(self, client: Client, children: Children[Any, Pod]) -> None:
        self._client, self._children = client, children

    async def set_state(
        self,
        owner: ApiObject,
        pod: Pod,
        state: str,
        *,
        marks: bool = False,
        hook: LifecycleHook | None = None,
    ) -> bool:
        """Bring a pod into a lifecycle state. Return whether it was in another one; see ``move``."""
        return await self.move(owner, pod, state, marks=marks, hook=hook) is not None

    async def move(
        self,
        owner: ApiObject,
        pod: Pod,
        state: str,
        *,
        marks: bool = False,
        hook: LifecycleHook | None = None,
    ) -> Pod | None:
        """Bring a pod into a lifecycle state. Return the pod as written; None if it was in that state.

        Args:
            marks: the hook makes the pod not ready, and ready again.
            hook: its labels and finalizers are put on the pod, too.
        """
        now = clock.now()
        metadata, held = pod.metadata, pod
        if marks:
            changed = with_readiness_of(pod, state, now)
            if changed is not pod:
                held = await self._client.update(changed, subresource="status")
        if state_of(pod) == state:
            return None
        patch = state_patch(state, now, hook)
        missing = [
            each
            for each in (hook.finalizers_handler if hook is not None else ())
            if each not in metadata.finalizers
        ]
        patch["metadata"]["uid"] = metadata.uid
        if missing:
            patch["metadata"]["finalizers"] = [*metadata.finalizers, *missing]
            patch["metadata"]["resourceVersion"] = held.metadata.resource_version
        written = await self._client.patch(Pod, metadata.name or "", patch, metadata.namespace)
        self._children.wrote(key_of(owner), written)
        return written

    async def choose_for_deletion(self, owner: ApiObject, pod: Pod) -> bool:
        """Mark a pod to be deleted by its workload. Return whether it was not marked before."""
        if SPECIFIED_DELETE in pod.metadata.labels:
            return False
        metadata = pod.metadata
        patch = {"metadata": {"uid": metadata.uid, "labels": {SPECIFIED_DELETE: "true"}}}
        written = await self._client.patch(Pod, metadata.name or "", patch, metadata.namespace)
        self._children.wrote(key_of(owner), written)
        return True
