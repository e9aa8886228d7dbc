"""Gives new pods with launch priorities the variables that hold their containers back.

Upstream: ``pkg/webhook/pod/mutating``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling import ids
from podling.api.core_v1 import Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.machinery import errors
from podling.machinery.scheme import Resource
from podling_kruise.launchpriority.barrier import NoPriority, priorities_of, with_barrier

NAME_LENGTH = 63
SUFFIX_LENGTH = 5


class LaunchPriorityAdmission(Plugin):
    """Runs after the sidecars are there, which have priorities, too."""

    name = "ContainerLaunchPriority"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        created = operation is Operation.CREATE and not subresource
        return created and (resource.group, resource.plural) == ("", "pods")

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        """Return the pod with its barrier. Raises 400 for a priority that is no number."""
        pod: Pod = request.object
        try:
            priorities = priorities_of(pod)
        except NoPriority as error:
            raise errors.bad_request(str(error)) from error
        return with_barrier(_named(pod), priorities) if priorities else pod


def _named(pod: Pod) -> Pod:
    """Return the pod with the name that the server would generate: the barrier is named after it."""
    metadata = pod.metadata
    if metadata.name or not metadata.generate_name:
        return pod
    base = metadata.generate_name[: NAME_LENGTH - SUFFIX_LENGTH]
    name = f"{base}{ids.suffix(SUFFIX_LENGTH)}"
    return structs.replace(pod, metadata=structs.replace(metadata, name=name))
