"""A job's pods: what they are made of, and letting go of them once they are counted."""

from __future__ import annotations

from msgspec import structs

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod
from podling.client.base import Client
from podling.controllers.workloads.job_indexes import INDEX
from podling.controllers.workloads.job_pod_rules import (
    FINALIZER,
    INDEX_FAILURES,
    INDEX_IGNORED,
    per_index,
    tracked,
)
from podling.controllers.workloads.pod_control import pod_from_template
from podling.machinery.errors import unless_gone

INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
HOST_NAME_LENGTH_MAX = 63
GENERATED_PREFIX_LENGTH_MAX = 58
"""The API server cuts longer ones, and with them the index."""


def template_pod(job: Job, index: int | None, *, failures: int, ignored: int) -> Pod:
    """Return a new pod of the job, for one index of an Indexed job.

    ``failures`` and ``ignored``: how often the index failed before.
    """
    pod = pod_from_template(job.spec.template, job)
    metadata = structs.replace(
        pod.metadata, finalizers=tuple(dict.fromkeys((*pod.metadata.finalizers, FINALIZER)))
    )
    if index is None:
        return structs.replace(pod, metadata=metadata)
    annotations = {**metadata.annotations, INDEX: str(index)}
    if per_index(job):
        annotations[INDEX_FAILURES] = str(failures)
        if ignored:
            annotations[INDEX_IGNORED] = str(ignored)
    name = f"{job.metadata.name}-{index}"
    suffix = f"-{index}-"
    metadata = structs.replace(
        metadata,
        annotations=annotations,
        labels={**metadata.labels, INDEX: str(index)},
        generate_name=(job.metadata.name or "")[: GENERATED_PREFIX_LENGTH_MAX - len(suffix)] + suffix,
    )
    spec = structs.replace(
        pod.spec,
        hostname=name if len(name) <= HOST_NAME_LENGTH_MAX else pod.spec.hostname,
        containers=tuple(map(_with_index, pod.spec.containers)),
        init_containers=tuple(map(_with_index, pod.spec.init_containers)),
    )
    return structs.replace(pod, metadata=metadata, spec=spec)


def _with_index(container: Container) -> Container:
    if any(each.name == INDEX_VARIABLE for each in container.env):
        return container
    source = EnvVarSource(field_ref=ObjectFieldSelector(field_path=f"metadata.labels['{INDEX}']"))
    return structs.replace(container, env=(*container.env, EnvVar(name=INDEX_VARIABLE, value_from=source)))


async def release(client: Client, pod: Pod) -> None:
    """Take the tracking finalizer off a pod, so that it may go."""
    if not tracked(pod):
        return
    metadata = pod.metadata
    left = [each for each in metadata.finalizers if each != FINALIZER]
    patch = {"metadata": {"uid": metadata.uid, "finalizers": left or None}}
    if left:  # other writers may remove their finalizers at the same time
        patch["metadata"]["resourceVersion"] = metadata.resource_version
    with unless_gone():
        await client.patch(Pod, metadata.name or "", patch, metadata.namespace)
