"""Collecting what ``podling why`` needs to know, over the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podling import clock
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import Event, Node, Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.policy_v1 import PodDisruptionBudget
from podling.cli.autoscaling.explain import explain_autoscaler
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Evidence, Explanation, PartProblems, PodGang
from podling.cli.explain import explain
from podling.cli.explain_absent import explain_absent
from podling.cli.explain_processes import with_control_plane
from podling.cli.recorded_events import NEVER, events_of, moment_of
from podling.cli.workloads.budgets import explain_budget
from podling.cli.workloads.explain import explain_workload
from podling.cli.workloads.schedules import explain_cron_job
from podling.client.base import Client
from podling.client.kubeconfig import Connection
from podling.machinery import scheme
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.selectors import readable_selector

WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController")
KINDS = ("Pod", *WORKLOADS, "CronJob", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget")
NO_PROBLEMS = PartProblems()
BETWEEN = ("ReplicaSet",)
"""Kinds that stand between a workload and its pods."""


async def why(
    client: Client,
    kind: str,
    name: str,
    namespace: str,
    parts: PartProblems = NO_PROBLEMS,
    connection: Connection | None = None,
) -> Explanation:
    """The answer for ``kind/name``. Raises ``NoAnswer`` when there is nothing to explain, ``ApiError``.

    Args:
        parts: what is wrong with the cluster's processes.
        connection: the API server, for connections to the ports of pods; without it none are made.
    """
    resource = resource_named(kind)
    if resource.kind == "Pod":
        return await _pod(client, name, namespace, parts)
    if resource.kind == "Service":
        return with_control_plane(await _service(client, name, namespace, parts, connection), parts)
    if resource.kind == "HorizontalPodAutoscaler":
        return with_control_plane(await _autoscaler(client, name, namespace), parts)
    if resource.kind == "CronJob":
        return with_control_plane(await _cron_job(client, name, namespace, parts), parts)
    if resource.kind == "PodDisruptionBudget":
        return with_control_plane(await _budget(client, name, namespace, parts), parts)
    return with_control_plane(await _workload(client, resource, name, namespace, parts), parts)


def resource_named(kind: str, others: Sequence[str] = ()) -> scheme.Resource:
    """Return the resource that ``kind`` names in kubectl: ``po``, ``deploy.apps``.

    Raises ``NoAnswer``, which names the known kinds; ``others`` are those of extensions.
    """
    for resource in scheme.RESOURCES:
        names = (resource.plural, resource.singular, *resource.short_names)
        if kind.lower().partition(".")[0] in names and resource.kind in KINDS:
            return resource
    known = ", ".join(name.lower() for name in (*KINDS, *others))
    raise NoAnswer(f'cannot explain a "{kind}"; there are: {known}')


async def _pod(client: Client, name: str, namespace: str, parts: PartProblems) -> Explanation:
    try:
        pod = await client.get(Pod, name, namespace)
    except ApiError as error:
        if not is_not_found(error):
            raise
        everywhere = (await client.list(Pod)).items
        selector = f"involvedObject.name={name},involvedObject.kind=Pod"
        past = (await client.list(Event, namespace, field_selector=selector)).items
        raise NoAnswer(explain_absent(name, namespace, everywhere, past, clock.now())) from error
    return await explained(client, pod, parts)


async def explained(client: Client, pod: Pod, parts: PartProblems) -> Explanation:
    """Return the answer for a pod."""
    nodes: Sequence[Node] = (await client.list(Node)).items
    node = next((each for each in nodes if each.metadata.name == pod.spec.node_name), None)
    events = await events_of(client, pod)
    services: Sequence[Service] = ()
    slices: Sequence[EndpointSlice] = ()
    if any(status.state.running is not None for status in pod.status.init_container_statuses):
        services, slices = (await client.list(Service)).items, (await client.list(EndpointSlice)).items
    gang = await _gang_of(client, pod)
    return explain(Evidence(pod, events, node, clock.now(), nodes, parts, services, slices, gang))


async def _gang_of(client: Client, pod: Pod) -> PodGang | None:
    """Return the pod group that a pod without a node names."""
    named = pod.spec.scheduling_group
    if named is None or pod.spec.node_name:
        return None
    from podling.api.scheduling_v1alpha2 import PodGroup  # behind a feature gate: few clusters have any

    name, namespace = named.pod_group_name or "", pod.metadata.namespace
    group: PodGroup | None = None
    try:
        group = await client.get(PodGroup, name, namespace)
    except ApiError as error:
        if not is_not_found(error):
            raise
    pods = (await client.list(Pod, namespace)).items
    return PodGang(name, group, [each for each in pods if each.spec.scheduling_group == named])


async def _service(
    client: Client, name: str, namespace: str, parts: PartProblems, connection: Connection | None
) -> Explanation:
    from podling.cli.services.queries import why_service

    async def of_pod(pod: Pod) -> Explanation:
        return await explained(client, pod, parts)

    async def of_workload(obj: Any) -> Explanation:
        return await _of_owner(client, obj, parts)

    return await why_service(client, name, namespace, of_pod, of_workload, connection)


async def _autoscaler(client: Client, name: str, namespace: str) -> Explanation:
    hpa = await _existing(client, scheme.resource_of(HorizontalPodAutoscaler), name, namespace)
    return explain_autoscaler(hpa, await events_of(client, hpa), clock.now())


async def _cron_job(client: Client, name: str, namespace: str, parts: PartProblems) -> Explanation:
    """Return the explanation of a CronJob by its runs: those that are active, and the newest."""
    cron_job = await _existing(client, scheme.resource_of(CronJob), name, namespace)
    jobs = [each for each in (await client.list(Job, namespace)).items if _owned(each, [cron_job])]
    jobs.sort(key=lambda job: (job.metadata.creation_timestamp or NEVER, job.metadata.name or ""))
    active = {each.uid for each in cron_job.status.active}
    runs = [
        (job, await _of_owner(client, job, parts))
        for job in jobs
        if job is jobs[-1] or job.metadata.uid in active
    ]
    return explain_cron_job(cron_job, runs, await events_of(client, cron_job), clock.now())


async def _budget(client: Client, name: str, namespace: str, parts: PartProblems) -> Explanation:
    """Return the explanation of a budget by the pods that it selects."""
    budget = await _existing(client, scheme.resource_of(PodDisruptionBudget), name, namespace)
    selector = readable_selector(budget.spec.selector)
    pods = (await client.list(Pod, namespace)).items if selector is not None else ()
    chosen = [pod for pod in pods if selector is not None and selector.matches(pod.metadata.labels)]
    answers = [(pod, await explained(client, pod, parts)) for pod in chosen]
    return explain_budget(budget, answers, await events_of(client, budget))


async def _workload(
    client: Client, resource: scheme.Resource, name: str, namespace: str, parts: PartProblems
) -> Explanation:
    return await _of_owner(client, await _existing(client, resource, name, namespace), parts)


async def _existing(client: Client, resource: scheme.Resource, name: str, namespace: str) -> Any:
    """Return an object. Raises ``NoAnswer`` when it does not exist."""
    try:
        return await client.get(resource.type, name, namespace)
    except ApiError as error:
        if not is_not_found(error):
            raise
        text = f'There is no {resource.singular} "{name}" in namespace {namespace}.'
        raise NoAnswer(text) from error


async def _of_owner(client: Client, obj: Any, parts: PartProblems) -> Explanation:
    """Return the explanation of a workload by its pods, directly or by way of what it owns."""
    owners, namespace = [obj], obj.metadata.namespace
    for kind in BETWEEN:
        between = scheme.by_kind("apps", "v1", kind)
        if between is not None:
            found = (await client.list(between.type, namespace)).items
            owners += [each for each in found if _owned(each, owners)]
    pods = [pod for pod in (await client.list(Pod, namespace)).items if _owned(pod, owners)]
    answers = [(pod, await explained(client, pod, parts)) for pod in pods]
    events = sorted([event for owner in owners for event in await events_of(client, owner)], key=moment_of)
    return explain_workload(obj, answers, events)


def _owned(obj: Any, owners: Sequence[Any]) -> bool:
    uids = {owner.metadata.uid for owner in owners}
    return any(ref.controller and ref.uid in uids for ref in obj.metadata.owner_references)
