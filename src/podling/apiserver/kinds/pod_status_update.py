"""``pods/status``: what the kubelet and controllers may say of a pod.

Upstream: ``podStatusStrategy`` in ``pkg/registry/core/pod/strategy.go`` and ``ValidatePodStatusUpdate``
in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.core_v1 import ContainerStatus, Pod, PodCondition, PodStatus
from podling.apiserver.kinds import checks
from podling.apiserver.kinds.checks import Errors
from podling.apiserver.kinds.filling import change, each
from podling.apiserver.kinds.pod_update import mirror_annotation
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.pods import is_sidecar

STATUS = Path("status")
_ALIVE_AGAIN = "may not be transitioned to non-terminated state"
_ONE_PER_FAMILY = "may specify no more than one IP for each IP family"


def keep_recorded(new: PodStatus, old: PodStatus) -> PodStatus:
    """What a writer that does not know better leaves out stays as it was."""
    return change(
        new,
        qos_class=new.qos_class or old.qos_class,
        observed_generation=new.observed_generation or old.observed_generation,
        conditions=each(new.conditions, lambda condition: _with_generation(condition, old)),
    )


def _with_generation(condition: PodCondition, old: PodStatus) -> PodCondition:
    if condition.observed_generation or not condition.type:
        return condition
    before = (was.observed_generation for was in old.conditions if was.type == condition.type)
    return change(condition, observed_generation=next(before, None))


def validate_status_update(new: Pod, old: Pod) -> Errors:
    status, before = new.status, old.status
    errors = mirror_annotation(new, old)
    for position, condition in enumerate(status.conditions):
        problems = names.qualified_name_errors(condition.type)
        where = Path("metadata.conditions").index(position).child("Type")
        errors += checks.invalid_each(where, condition.type, problems)
    nominated = status.nominated_node_name
    if nominated and nominated != before.nominated_node_name:
        errors += checks.dns_subdomain(STATUS.child("nominatedNodeName"), nominated)
        if old.spec.node_name:
            text = "may not be set once the pod is assigned to a node"
            errors.append(fields.forbidden(STATUS.child("nominatedNodeName"), text))
    errors += checks.immutable(STATUS.child("qosClass"), status.qos_class, before.qos_class)
    errors += _transitions(new, old)
    errors += _claim_statuses(STATUS.child("resourceClaimStatuses"), new)
    errors += _addresses(STATUS.child("podIPs"), [each.ip for each in status.pod_ips])
    if status.host_ips and status.host_ip != status.host_ips[0].ip:
        where = STATUS.child("hostIPs").index(0).child("ip")
        errors.append(fields.invalid(where, status.host_ips[0].ip, "must be equal to `hostIP`"))
    return errors + _addresses(STATUS.child("hostIPs"), [each.ip for each in status.host_ips])


def _transitions(new: Pod, old: Pod) -> Errors:
    """A container that ended and may not be restarted stays ended."""
    spec, status, before = old.spec, new.status, old.status
    policy = spec.restart_policy or "Always"
    policies = {container.name: container.restart_policy or policy for container in spec.containers}
    ruled = {container.name for container in spec.containers if container.restart_policy_rules}
    inits = {container.name: policy for container in spec.init_containers}
    inits.update((c.name, "Always") for c in spec.init_containers if is_sidecar(c))
    restart_all = _restarts_everything(old)
    errors: Errors = []
    for field, after, earlier, allowed in (
        ("containerStatuses", status.container_statuses, before.container_statuses, policies),
        ("initContainerStatuses", status.init_container_statuses, before.init_container_statuses, inits),
        ("ephemeralContainerStatuses", status.ephemeral_container_statuses,
         before.ephemeral_container_statuses, {}),
    ):  # fmt: skip
        if restart_all and field != "ephemeralContainerStatuses":
            continue
        now = {each.name: each for each in after}
        for position, was in enumerate(earlier):
            if was.name in ruled or _may_restart(was, allowed.get(was.name, "Never")):
                continue
            found = now.get(was.name)
            if found is not None and found.state.terminated is None:
                errors.append(
                    fields.forbidden(STATUS.child(field).index(position).child("state"), _ALIVE_AGAIN)
                )
    return errors


def _restarts_everything(pod: Pod) -> bool:
    return any(
        rule.action == "RestartAllContainers"
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for rule in container.restart_policy_rules
    )


def _may_restart(status: ContainerStatus, policy: str) -> bool:
    ended = status.state.terminated
    return ended is None or policy == "Always" or (policy == "OnFailure" and ended.exit_code != 0)


def _claim_statuses(path: Path, pod: Pod) -> Errors:
    """Each names another entry of the pod's claims."""
    known = {claim.name for claim in pod.spec.resource_claims}
    errors: Errors = []
    seen: set[str] = set()
    for position, status in enumerate(pod.status.resource_claim_statuses):
        where = path.index(position).child("name")
        if status.name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(fields.invalid(where, status.name, text))
        errors += [fields.duplicate(where, status.name)] if status.name in seen else []
        seen.add(status.name)
        if status.resource_claim_name is not None:
            errors += checks.dns_subdomain(where, status.resource_claim_name)
    return errors


def _addresses(path: Path, addresses: Sequence[str]) -> Errors:
    errors: Errors = []
    for position, address in enumerate(addresses):
        errors += checks.ip(path.index(position), address)
        if address in addresses[:position]:
            errors.append(fields.duplicate(path.index(position), {"ip": address}))
    families = [":" in address for address in addresses]
    if len(families) != len(set(families)):
        errors.append(fields.invalid(path, [{"ip": address} for address in addresses], _ONE_PER_FAMILY))
    return errors
