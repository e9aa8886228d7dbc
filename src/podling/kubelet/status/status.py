"""The status that the kubelet reports for a pod: phase, conditions, addresses, containers.

Pure: the new status is a function of spec, observation, probe results and the status before. The status
manager holds the rules about two successive writes (what may be sent while containers may still run). The
invariant kept here: a pod that was Succeeded or Failed stays so. Only one that was to fail, and whose
containers then all ended well, has succeeded (``kubelet_pods.go`` generateAPIPodStatus).
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, structs

from podling.api.core_v1 import (
    ContainerStatus,
    HostIP,
    Pod,
    PodCondition,
    PodIP,
    PodStatus,
    ResourceRequirements,
)
from podling.clock import seconds_precision
from podling.kubelet.observation import PodObservation
from podling.kubelet.pod_spec import ContainerKind, ephemeral_containers
from podling.kubelet.restart_policy import RESTART_ALL_CONTAINERS
from podling.kubelet.status import conditions as rules
from podling.kubelet.status.container_statuses import ContainerFacts, container_statuses
from podling.kubelet.status.phase import FAILED, RUNNING, SUCCEEDED, TERMINAL_PHASES, pod_phase
from podling.kubelet.status.pod_addresses import host_network_addresses, sorted_addresses
from podling.kubelet.status.pod_sizes import PodSizes
from podling.kubelet.status.probe_view import ProbeView
from podling.machinery.conditions import find, is_true, transition_time
from podling.machinery.pods import is_static, qos_class
from podling.runtime.base import ContainerState as RuntimeState


class Verdict(Struct, frozen=True):
    """A decision about the whole pod that overrides its phase: rejected, evicted, past its deadline."""

    reason: str
    message: str
    phase: str = FAILED
    condition: PodCondition | None = None
    """A ``DisruptionTarget`` to be reported with it."""


class PodFacts(Struct, frozen=True):
    """The input of a status besides spec, runtime and probes.

    ``terminal``: nothing of the pod will be started again. ``volumes_ready``: all volumes are set up.
    """

    containers: ContainerFacts
    host_ips: tuple[str, ...] = ()
    terminal: bool = False
    volumes_ready: bool = True
    verdict: Verdict | None = None
    sizes: PodSizes = PodSizes()
    resize: tuple[PodCondition, ...] = ()
    """The conditions of a resize in progress."""
    pending_images: tuple[str, ...] = ()
    """The containers that run on with an old image; ``containers.waiting`` has the reasons."""
    shows_ready_to_start: bool = True
    """The condition ``PodReadyToStartContainers`` is reported (``READY_TO_START_GATE``)."""


def pod_status(
    pod: Pod,
    observed: PodObservation,
    probes: ProbeView,
    before: PodStatus,
    facts: PodFacts,
    now: datetime,
) -> PodStatus:
    """Return the status to report. ``before`` is the last one that was decided (or the API's)."""
    regular, init, ephemeral = _all_statuses(pod, observed, probes, before, facts)
    by_name = {status.name: status for status in (*init, *regular)}
    phase = pod_phase(
        pod.spec,
        by_name,
        initialized=_any_started(pod, observed),
        terminal=facts.terminal,
        static=is_static(pod),
    )
    is_over = pod.status.phase in TERMINAL_PHASES
    ended_well = facts.terminal and phase == SUCCEEDED
    if is_over:
        phase = pod.status.phase
    elif before.phase in TERMINAL_PHASES and not ended_well:
        phase = before.phase
    reason, message = "", ""
    if facts.verdict is not None and not is_over and before.phase != SUCCEEDED:
        phase, reason, message = facts.verdict.phase, facts.verdict.reason, facts.verdict.message
    elif phase == before.phase:
        reason = before.reason or pod.status.reason or ""
        message = before.message or pod.status.message or ""
    generation = pod.metadata.generation
    status = structs.replace(
        before,
        phase=phase,
        reason=reason,
        message=message,
        start_time=before.start_time or seconds_precision(now),
        qos_class=before.qos_class or qos_class(pod.spec),
        container_statuses=tuple(sorted(regular, key=lambda found: found.name)),
        init_container_statuses=init,
        ephemeral_container_statuses=ephemeral,
        allocated_resources=facts.sizes.total.requests,
        resources=_resources_of_all(before, phase, facts),
        observed_generation=generation,
        conditions=_conditions(pod, by_name, observed, before, phase, facts, now),
    )
    return _with_addresses(pod, status, observed, facts)


def _resources_of_all(before: PodStatus, phase: str, facts: PodFacts) -> ResourceRequirements:
    """Return the resources of the pod as a whole: until a resize is applied, the earlier ones."""
    in_progress = any(condition.type == rules.POD_RESIZE_IN_PROGRESS for condition in facts.resize)
    if in_progress and before.resources is not None:
        return before.resources
    return facts.sizes.in_force if phase == RUNNING else facts.sizes.total


def _all_statuses(
    pod: Pod, observed: PodObservation, probes: ProbeView, before: PodStatus, facts: PodFacts
) -> tuple[tuple[ContainerStatus, ...], ...]:
    lists = (
        (ContainerKind.REGULAR, pod.spec.containers, before.container_statuses),
        (ContainerKind.INIT, pod.spec.init_containers, before.init_container_statuses),
        (ContainerKind.EPHEMERAL, ephemeral_containers(pod.spec), before.ephemeral_container_statuses),
    )
    return tuple(
        container_statuses(
            pod,
            kind,
            containers,
            observed,
            probes,
            {status.name: status for status in old},
            facts.containers,
        )
        for kind, containers, old in lists
    )


def _any_started(pod: Pod, observed: PodObservation) -> bool:
    ran = (RuntimeState.RUNNING, RuntimeState.EXITED)
    current = (observed.current(container.name) for container in pod.spec.containers)
    return any(found is not None and found.state in ran for found in current)


def _conditions(
    pod: Pod,
    statuses: dict[str, ContainerStatus],
    observed: PodObservation,
    before: PodStatus,
    phase: str,
    facts: PodFacts,
    now: datetime,
) -> tuple[PodCondition, ...]:
    """Return other components' conditions as the API has them, then the kubelet's in Kubernetes' order."""
    owned = (*rules.KUBELET_OWNED, rules.DISRUPTION_TARGET)
    foreign = tuple(found for found in pod.status.conditions if found.type not in owned)
    disruption = find((*before.conditions, *pod.status.conditions), rules.DISRUPTION_TARGET)
    if disruption is not None and facts.terminal:
        # It is sent with the terminal phase, and is as old as that.
        shown = find(pod.status.conditions, rules.DISRUPTION_TARGET)
        moment = transition_time(shown, disruption.status, now)
        disruption = structs.replace(disruption, last_transition_time=moment)
    all_ready = rules.containers_ready_condition(pod.spec, statuses, phase)
    sandbox_ready = bool(observed.ready_sandboxes) and facts.volumes_ready and not facts.terminal
    restarting = facts.containers.restarting_all
    initialized = is_true(before.conditions, rules.INITIALIZED)
    made = [
        *([rules.ready_to_start_condition(sandbox_ready)] if facts.shows_ready_to_start else ()),
        rules.initialized_condition(pod.spec, statuses, phase, before=initialized),
        rules.ready_condition(pod.spec, foreign, all_ready),
        all_ready,
        rules.scheduled_condition(),
    ]
    if _has_restart_all_rule(pod):
        made.append(rules.all_restarting_condition(restarting, phase))
    if facts.pending_images and not facts.terminal:
        made.append(rules.image_change_condition(facts.pending_images, facts.containers.waiting))
    if facts.verdict is not None and facts.verdict.condition is not None:
        made.insert(0, facts.verdict.condition)
        disruption = None
    generation = pod.metadata.generation
    resize = facts.resize if phase not in TERMINAL_PHASES else ()
    told = rules.with_transitions(resize, before.conditions, generation, now)
    own = rules.with_transitions(made, before.conditions, generation, now)
    return (*foreign, *told, *((disruption,) if disruption is not None else ()), *own)


def _has_restart_all_rule(pod: Pod) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return any(
        rule.action == RESTART_ALL_CONTAINERS
        for container in containers
        for rule in container.restart_policy_rules
    )


def _with_addresses(pod: Pod, status: PodStatus, observed: PodObservation, facts: PodFacts) -> PodStatus:
    host_ips = facts.host_ips
    if host_ips:
        status = structs.replace(
            status, host_ip=host_ips[0], host_ips=tuple(HostIP(ip=address) for address in host_ips)
        )
    sandbox = observed.sandbox
    addresses = sorted_addresses(sandbox.ips, host_ips) if sandbox is not None else ()
    if pod.spec.host_network:
        before = [each.ip for each in status.pod_ips]
        addresses = host_network_addresses(before, host_ips) if sandbox is not None or status.pod_ip else ()
    if addresses:
        status = structs.replace(
            status, pod_ip=addresses[0], pod_ips=tuple(PodIP(ip=address) for address in addresses)
        )
    return status


def rejected_status(pod: Pod, before: PodStatus, verdict: Verdict, now: datetime) -> PodStatus:
    """Return the status of a pod that the node rejected: failed, with nothing ever started."""
    return structs.replace(
        before,
        phase=verdict.phase,
        reason=verdict.reason,
        message=verdict.message,
        start_time=before.start_time or seconds_precision(now),
        qos_class=before.qos_class or qos_class(pod.spec),
        observed_generation=pod.metadata.generation,
    )
