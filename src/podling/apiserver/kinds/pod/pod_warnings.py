"""Warnings about valid pods with probable mistakes.

Upstream: ``pkg/api/pod/warnings.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from podling.api.core_v1 import (
    ContainerPort,
    EnvVar,
    Pod,
    PodSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.address_warnings import ip_warnings
from podling.apiserver.kinds.pod.pod_annotations import (
    APP_ARMOR,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    app_armor_field,
)
from podling.apiserver.kinds.pod.pod_scope import AnyContainer, each_container
from podling.apiserver.kinds.pod.scheduling_warnings import pod_affinity_warnings, scheduling_warnings
from podling.apiserver.kinds.pod.volume_warnings import volume_warnings
from podling.machinery import names
from podling.machinery.fields import Path

DEPRECATED_ANNOTATIONS = {
    key: f'non-functional in {since}; use the "{field}" field instead'
    for key, since, field in (
        ("scheduler.alpha.kubernetes.io/critical-pod", "v1.16+", "priorityClassName"),
        ("security.alpha.kubernetes.io/sysctls", "v1.11+", "sysctls"),
        ("security.alpha.kubernetes.io/unsafe-sysctls", "v1.11+", "sysctls"),
    )
}

_USE_APP_ARMOR_FIELD = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_USE_SECCOMP_FIELD = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_POD = Path()
_WHOLE_RESOURCES = ("memory", "ephemeral-storage")


def pod_warnings(pod: Pod, old: Pod | None) -> list[str]:
    """Return the warnings about a new (``old`` is None) or changed pod."""
    found: list[str] = []
    if old is None:
        if pod.metadata.annotations:
            found += _app_armor_of_pod(pod.metadata.annotations, pod.spec)
        problems = names.dns_label_errors(pod.metadata.name or "")
        if problems:
            found.append(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
                f"a DNS label is recommended: [{' '.join(problems)}]"
            )
    return found + spec_warnings(_POD, pod.spec, pod.metadata)


def spec_warnings(path: Path, spec: PodSpec, metadata: ObjectMeta) -> list[str]:
    """Return the warnings about a pod or template at ``path`` (empty for a pod)."""
    here, annotations = path.child("spec"), metadata.annotations
    found: list[str] = []
    if spec.node_selector or spec.affinity is not None or spec.topology_spread_constraints:
        found += scheduling_warnings(here, spec)
    if annotations:
        where = path.child("metadata", "annotations")
        found += [
            f"{where.key(key)}: {DEPRECATED_ANNOTATIONS[key]}"
            for key in DEPRECATED_ANNOTATIONS
            if key in annotations
        ]
    if spec.volumes:
        found += volume_warnings(here.child("volumes"), spec.volumes)
    if spec.host_aliases or spec.image_pull_secrets:
        found += _lists(here, spec)
    if spec.overhead:
        found += checks.fraction_warnings(here.child("overhead"), spec.overhead, _WHOLE_RESOURCES)
    if annotations or any(
        map(_has_fields_with_warnings, spec.init_containers + spec.containers + spec.ephemeral_containers)
    ):
        found += _containers(here, spec, path.child("metadata", "annotations"), annotations)
        found += _ports(here, spec)
        found += _port_names(here, spec)
    found += _grace(here, spec)
    if spec.affinity is not None:
        found += pod_affinity_warnings(here.child("affinity"), spec.affinity)
    if spec.dns_config is not None or spec.host_aliases:
        found += _addresses(here, spec)
    return found


def _has_fields_with_warnings(container: AnyContainer) -> bool:
    """Return whether a container has any field with warnings."""
    resources = container.resources
    return bool(container.env or container.ports or resources.limits or resources.requests)


def _app_armor_of_pod(annotations: Mapping[str, str], spec: PodSpec) -> Iterator[str]:
    """Yield the deprecation of AppArmor annotations, whose values the fields already have."""
    if spec.os is not None and spec.os.name == "windows":
        return
    for container, _ in each_container(spec, _POD):
        key, own = APP_ARMOR + container.name, container.security_context
        if key not in annotations:
            continue
        said = own.app_armor_profile if own is not None else None
        if said is not None or app_armor_field(annotations[key]) is None:
            yield f"{_POD.child('metadata', 'annotations').key(key)}: {_USE_APP_ARMOR_FIELD}"


def _lists(path: Path, spec: PodSpec) -> Iterator[str]:
    addresses: set[str] = set()
    for position, alias in enumerate(spec.host_aliases):
        if alias.ip in addresses:
            where = path.child("hostAliases").index(position).child("ip")
            yield f"{where}: duplicate ip {json.dumps(alias.ip)}"
        addresses.add(alias.ip)
    secrets: set[str] = set()
    for position, reference in enumerate(spec.image_pull_secrets):
        where, name = path.child("imagePullSecrets").index(position).child("name"), reference.name or ""
        if name in secrets:
            yield f"{where}: duplicate name {json.dumps(name)}"
        secrets.add(name)
    for position, reference in enumerate(spec.image_pull_secrets):
        if not reference.name:
            where = path.child("imagePullSecrets").index(position).child("name")
            yield f'{where}: invalid empty name ""'


def _containers(
    path: Path, spec: PodSpec, annotations_path: Path, annotations: Mapping[str, str]
) -> Iterator[str]:
    context = spec.security_context
    if SECCOMP_POD in annotations and (context is None or context.seccomp_profile is None):
        yield f"{annotations_path.key(SECCOMP_POD)}: {_USE_SECCOMP_FIELD}"
    of_pod = context is not None and context.app_armor_profile is not None
    for container, here in each_container(spec, path):
        if annotations:
            yield from _annotations(annotations_path, annotations, container, of_pod=of_pod)
        resources, where = container.resources, here.child("resources")
        if resources.limits or resources.requests:
            for name in _WHOLE_RESOURCES:
                yield from checks.fraction_warnings(where.child("limits"), resources.limits, (name,))
                yield from checks.fraction_warnings(where.child("requests"), resources.requests, (name,))
        seen: set[str] = set()
        for position, variable in enumerate(container.env):
            if variable.name in seen and _overwrites(variable):
                at, name = here.child("env").index(position), json.dumps(variable.name)
                yield f"{at}: hides previous definition of {name}, which may be dropped when using apply"
            seen.add(variable.name)


def _annotations(
    path: Path, annotations: Mapping[str, str], container: AnyContainer, *, of_pod: bool
) -> Iterator[str]:
    """Yield the deprecation of annotations for fields; pods' AppArmor annotations are reported separately."""
    own = container.security_context
    key = SECCOMP_CONTAINER + container.name
    if key in annotations and (own is None or own.seccomp_profile is None):
        yield f"{path.key(key)}: {_USE_SECCOMP_FIELD}"
    key = APP_ARMOR + container.name
    is_template = path != _POD.child("metadata", "annotations")
    if key in annotations and is_template and not of_pod and (own is None or own.app_armor_profile is None):
        yield f"{path.key(key)}: {_USE_APP_ARMOR_FIELD}"


def _overwrites(variable: EnvVar) -> bool:
    """Return whether a second definition overwrites the first; it may refer to it (``X: $(X)-more``)."""
    reference, value = f"$({variable.name})", variable.value or ""
    return variable.value_from is not None or value == reference or reference not in value


def _ports(path: Path, spec: PodSpec) -> Iterator[str]:
    seen: dict[tuple[int, str], list[tuple[Path, ContainerPort]]] = {}
    for container, here in each_container(spec, path):
        for position, port in enumerate(container.ports):
            where = here.child("ports").index(position)
            if port.host_ip and not port.host_port:
                shown = (
                    f"{{Name:{port.name or ''} HostPort:{port.host_port or 0} "
                    f"ContainerPort:{port.container_port} Protocol:{port.protocol or ''} "
                    f"HostIP:{port.host_ip}}}"
                )
                yield f"{where}: hostIP set without hostPort: {shown}"
            others = seen.setdefault((port.container_port, port.protocol or ""), [])
            for other_path, other in others:
                problem = _port_conflict(port, other)
                if problem:
                    yield f"{where}: {problem} port definition with {other_path}"
            others.append((where, port))


def _port_conflict(port: ContainerPort, other: ContainerPort) -> str:
    host_ip, other_ip = port.host_ip or "", other.host_ip or ""
    host_port, other_port = port.host_port or 0, other.host_port or 0
    if (host_ip, host_port) == (other_ip, other_port):
        return "duplicate"
    if not host_port or not other_port:
        return "overlapping"
    if host_port == other_port and (not host_ip) != (not other_ip):
        return "dangerously ambiguous"
    return ""


def _port_names(path: Path, spec: PodSpec) -> Iterator[str]:
    first: dict[str, Path] = {}
    for container, here in each_container(spec, path):
        for position, port in enumerate(container.ports):
            where = here.child("ports").index(position)
            if not port.name or first.setdefault(port.name, where) is where:
                continue
            meant = first[port.name]
            yield (
                f"{where}: duplicate port name {json.dumps(port.name)} with {meant}, services and probes "
                f"that select ports by name will use {meant}"
            )


def _addresses(path: Path, spec: PodSpec) -> Iterator[str]:
    here = path.child("dnsConfig", "nameservers")
    for position, server in enumerate(spec.dns_config.nameservers if spec.dns_config else ()):
        yield from ip_warnings(here.index(position), server)
    for position, alias in enumerate(spec.host_aliases):
        yield from ip_warnings(path.child("hostAliases").index(position).child("ip"), alias.ip)


def _grace(path: Path, spec: PodSpec) -> list[str]:
    grace = spec.termination_grace_period_seconds
    if grace is None or grace >= 0:
        return []
    where = path.child("terminationGracePeriodSeconds")
    return [f"{where}: must be >= 0; negative values are invalid and will be treated as 1"]
