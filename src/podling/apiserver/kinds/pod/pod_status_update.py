"""``pods/status``: updates of a pod's status by the kubelet and controllers.

Upstream: ``podStatusStrategy`` in ``pkg/registry/core/pod/strategy.go`` and ``ValidatePodStatusUpdate`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import Container, HostIP, Pod, PodCondition, PodIP, PodSpec, PodStatus
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import ip_warnings
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, map_items
from podling.apiserver.kinds.pod.container_status_validation import (
    validate_claim_statuses,
    validate_container_statuses,
    validate_extended_claim,
)
from podling.apiserver.kinds.pod.pod_annotations import annotation_changes
from podling.machinery import fields, names
from podling.machinery.fields import Path

STATUS = Path("status")
_ALIVE_AGAIN = "may not be transitioned to non-terminated state"
_ONE_PER_FAMILY = "may specify no more than one IP for each IP family"


def keep_omitted_values(new: PodStatus, old: PodStatus) -> PodStatus:
    """Return ``new`` with the values of ``old`` that older clients omit, and with consistent pod IPs."""
    pod_ips = new.pod_ips
    if new.pod_ip and (not pod_ips or pod_ips[0].ip != new.pod_ip):
        pod_ips = (PodIP(ip=new.pod_ip),)
    return change(
        new,
        pod_ip=pod_ips[0].ip if pod_ips else new.pod_ip,
        pod_ips=pod_ips,
        qos_class=new.qos_class or old.qos_class,
        observed_generation=new.observed_generation or old.observed_generation,
        conditions=map_items(new.conditions, lambda condition: _with_generation(condition, old)),
    )


def _with_generation(condition: PodCondition, old: PodStatus) -> PodCondition:
    if condition.observed_generation or not condition.type:
        return condition
    before = (was.observed_generation for was in old.conditions if was.type == condition.type)
    return change(condition, observed_generation=next(before, 0))


def validate_status_update(new: Pod, old: Pod) -> Errors:
    status, before = new.status, old.status
    errors = annotation_changes(new, old)
    for position, condition in enumerate(status.conditions):
        where = STATUS.child("conditions").index(position)
        errors += _generation_errors(where, condition.observed_generation)
        problems = names.qualified_name_errors(condition.type)
        errors += fields.invalid_each(where.child("Type"), condition.type, problems)
    nominated = status.nominated_node_name
    if nominated and nominated != before.nominated_node_name:
        errors += checks.dns_subdomain(STATUS.child("nominatedNodeName"), nominated)
        if old.spec.node_name:
            text = "may not be set on pods that are already bound to a node"
            errors.append(fields.forbidden(STATUS.child("nominatedNodeName"), text))
    errors += _generation_errors(STATUS, status.observed_generation)
    errors += checks.immutable(STATUS.child("qosClass"), status.qos_class, before.qos_class)
    errors += _restart_errors(new, old)
    errors += validate_claim_statuses(STATUS.child("resourceClaimStatuses"), new)
    if status.extended_resource_claim_status is not None:
        where = STATUS.child("extendedResourceClaimStatus")
        errors += validate_extended_claim(where, status.extended_resource_claim_status, new.spec)
    errors += _address_errors(STATUS.child("podIPs"), _ips(status.pod_ips), _ips(before.pod_ips))
    if status.host_ips and (status.host_ip or "") != status.host_ips[0].ip:
        where = STATUS.child("hostIPs").index(0).child("ip")
        errors.append(fields.invalid(where, status.host_ips[0].ip, "must be equal to `hostIP`"))
    errors += _address_errors(STATUS.child("hostIPs"), _ips(status.host_ips), _ips(before.host_ips))
    return errors + validate_container_statuses(STATUS, new)


def _generation_errors(path: Path, value: int | None) -> Errors:
    if value is None or value >= 0:
        return []
    return [fields.invalid(path.child("observedGeneration"), value, "must be a non-negative integer")]


def _ips(addresses: Sequence[PodIP] | Sequence[HostIP]) -> list[str]:
    return [address.ip for address in addresses]


def _restart_errors(new: Pod, old: Pod) -> Errors:
    """Return an error for each ended container that runs again although it may not restart."""
    spec, status, before = old.spec, new.status, old.status
    restart_all = _can_restart_all(old)
    errors: Errors = []
    for field, after, earlier, containers in (
        ("containerStatuses", status.container_statuses, before.container_statuses, spec.containers),
        ("initContainerStatuses", status.init_container_statuses, before.init_container_statuses,
         spec.init_containers),
        ("ephemeralContainerStatuses", status.ephemeral_container_statuses,
         before.ephemeral_container_statuses, ()),
    ):  # fmt: skip
        if restart_all and field != "ephemeralContainerStatuses":
            continue
        now = {each.name: each for each in after}
        named = {container.name: container for container in containers}
        for position, was in enumerate(earlier):
            ended, found = was.state.terminated, now.get(was.name)
            if ended is None or found is None or found.state.terminated is not None:
                continue
            container = named.get(was.name)
            if container is None or not _may_restart(container, spec, ended.exit_code):
                errors.append(
                    fields.forbidden(STATUS.child(field).index(position).child("state"), _ALIVE_AGAIN)
                )
    return errors


def _can_restart_all(pod: Pod) -> bool:
    return any(
        rule.action == "RestartAllContainers"
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for rule in container.restart_policy_rules
    )


def _may_restart(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """Return whether the container's own restart policy, else the pod's, permits a restart.

    Kubernetes also matches the exit code with the rules. Here any rule is enough: after a power failure, a
    node restarts containers whose exit it did not observe.
    """
    if container.restart_policy_rules:
        return True
    policy = container.restart_policy or spec.restart_policy or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _address_errors(path: Path, new: Sequence[str], old: Sequence[str]) -> Errors:
    """Return the errors in addresses, at most one per family. Those in ``old`` stay valid."""
    errors: Errors = []
    for position, address in enumerate(new):
        errors += checks.ip(path.index(position), address) if address not in old else []
    families = {parsed.version for parsed in map(names.parse_ip, new) if parsed is not None}
    if len(new) > max(1, len(families)):
        errors.append(fields.invalid(path, [{"ip": address} for address in new], _ONE_PER_FAMILY))
    return errors


def status_warnings(status: PodStatus) -> list[str]:
    """Return warnings about addresses that other programs may parse differently."""
    found: list[str] = []
    for name, addresses in (("podIPs", _ips(status.pod_ips)), ("hostIPs", _ips(status.host_ips))):
        for position, address in enumerate(addresses):
            found += ip_warnings(STATUS.child(name).index(position).child("ip"), address)
    return found
