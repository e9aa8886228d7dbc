"""Admission of new pods: the SidecarSets that select them are injected.

Upstream: ``pkg/webhook/pod/mutating/sidecarset.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podling import ids
from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Namespace, Pod
from podling.api.meta_v1 import LabelSelector
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.client.typed_kinds import typed
from podling.controllers.pod_state import is_active
from podling.machinery import errors
from podling.machinery.scheme import Resource
from podling.machinery.selectors import readable_selector
from podling_kruise.names import SORTED_SIDECARS, SYSTEM_NAMESPACE
from podling_kruise.sidecarset.annotations import BASE, CANARY, UnreadableRecord
from podling_kruise.sidecarset.conversion import NAMESPACE_NAME
from podling_kruise.sidecarset.injection import PreparedSet, inject, prepared_set
from podling_kruise.sidecarset.metadata_patches import NotJson
from podling_kruise.sidecarset.resources_policy import UnusablePolicy
from podling_kruise.sidecarset.revision_data import chosen_revision, restored
from podling_kruise.sidecarset.types import PARTIAL, InjectRevision, SidecarSet


class SidecarInjection(Plugin):
    """Args: ``gates``: the feature gates."""

    name = "SidecarSetInjection"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._server: Server
        self._watch: Any = None
        self._sets: tuple[PreparedSet, ...] = ()

    def initialize(self, server: Server) -> None:
        self._server = server

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return (
            operation is Operation.CREATE
            and (resource.group, resource.plural) == ("", "pods")
            and not subresource
        )

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        """Return the pod with the sidecars. Raises 400 for records that cannot be read."""
        sets = await self._current(objects)
        pod: Pod = request.object
        if not sets or not is_active(pod):
            return pod
        chosen = [each for each in sets if _matches(each, pod, request.namespace, objects)]
        if not chosen:
            return pod
        suitable = [await self._revision(each, pod, objects) for each in chosen]
        bases = {base for each in suitable if (base := base_of_canary(each.owner))}
        suitable = [each for each in suitable if each.name not in bases]
        suitable.sort(key=lambda each: (not _is_of_namespace(each.owner, request.namespace), each.name))
        try:
            return inject(pod, suitable, request.now, by_name=self._gates[SORTED_SIDECARS])
        except (UnreadableRecord, NotJson, UnusablePolicy) as error:
            raise errors.bad_request(f"pod({request.namespace}/{request.name}) {error}") from error

    async def _current(self, objects: Objects) -> tuple[PreparedSet, ...]:
        """Return all SidecarSets, prepared again only after one of them has changed."""
        watch = self._watch
        if watch is not None and not watch.behind:
            return self._sets
        self.close()
        kind = SidecarSet.custom_resource.type
        store = self._server.store
        watch = store.watch(SidecarSet.custom_resource.key_prefix, after=store.revision)
        found = tuple(prepared_set(typed(each, SidecarSet)) for each in await objects.list(kind))
        if self._watch is None:
            self._watch, self._sets = watch, found
        else:  # another request has begun a watch meanwhile
            watch.close()
        return found

    async def _revision(self, current: PreparedSet, pod: Pod, objects: Objects) -> PreparedSet:
        """Return the SidecarSet as its strategy wants it for new pods."""
        spec = current.owner.spec
        wanted = spec.injection_strategy.revision
        if wanted is None or (wanted.revision_name is None and wanted.custom_version is None):
            return current
        strategy = spec.update_strategy
        if wanted.policy == PARTIAL and not strategy.paused:
            selector = strategy.selector
            found = readable_selector(selector) if selector is not None else None
            outside = selector is not None and not (found is not None and found.matches(pod.metadata.labels))
            if not outside and not _keeps_old(strategy.partition):
                return current
        old = await stored_revision(current.owner, wanted, objects)
        return prepared_set(restored(current.owner, old))


async def stored_revision(owner: SidecarSet, wanted: InjectRevision, objects: Objects) -> ControllerRevision:
    """Return the revision that is to be injected. Raises 404."""
    name = owner.metadata.name or ""
    if wanted.revision_name is not None:
        found = objects.get(ControllerRevision, wanted.revision_name, SYSTEM_NAMESPACE)
        missing = wanted.revision_name
    else:
        found = chosen_revision(name, wanted, await objects.list(ControllerRevision, SYSTEM_NAMESPACE))
        missing = name
    if found is None:
        raise errors.not_found("controllerrevisions", "apps", missing)
    return found


def base_of_canary(owner: SidecarSet) -> str:
    """Return the name of the SidecarSet that this one replaces in the pods of both; empty for most."""
    annotations = owner.metadata.annotations
    return annotations.get(BASE, "") if annotations.get(CANARY) == "true" else ""


def _matches(found: PreparedSet, pod: Pod, namespace: str, objects: Objects) -> bool:
    if found.owner.spec.injection_strategy.paused:
        return False
    selector = found.selector
    if selector is None or selector.empty or not selector.matches(pod.metadata.labels):
        return False
    if found.owner.spec.namespace_selector is None:
        return True
    held = objects.get(Namespace, namespace)
    return (
        held is not None and found.namespaces is not None and found.namespaces.matches(held.metadata.labels)
    )


def _is_of_namespace(owner: SidecarSet, namespace: str) -> bool:
    """Return whether the SidecarSet selects the namespace by its name: such ones come first."""
    selector = owner.spec.namespace_selector or LabelSelector()
    return selector.match_labels.get(NAMESPACE_NAME) == namespace or any(
        each.key == NAMESPACE_NAME and each.operator == "In" and namespace in each.values
        for each in selector.match_expressions
    )


def _keeps_old(partition: int | str | None) -> bool:
    """Return at random whether a new pod gets the old revision: as probable as the partition is large."""
    if not isinstance(partition, str):
        return False
    share = float(partition.removesuffix("%")) / 100
    return ids.uniform(0, 1) <= share
