"""Warnings about pods that are valid and still likely not what their author means.

Upstream: ``pkg/api/pod/warnings.go``, ``pkg/api/node/util.go``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from podling.api.core_v1 import (
    ContainerPort,
    EnvVar,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAntiAffinity,
    PodSpec,
    ProjectedVolumeSource,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.pod_scope import AnyContainer, each_container
from podling.machinery import names
from podling.machinery.fields import Path
from podling.machinery.quantity import parse

DEPRECATED_NODE_LABELS = {
    old: f'deprecated since {since}; use "{new}" instead'
    for old, since, new in (
        ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
        ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"),
        ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
        ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    )
}

DEPRECATED_ANNOTATIONS = {
    key: f'non-functional in {since}; use the "{field}" field instead'
    for key, since, field in (
        ("scheduler.alpha.kubernetes.io/critical-pod", "v1.16+", "priorityClassName"),
        ("security.alpha.kubernetes.io/sysctls", "v1.11+", "sysctls"),
        ("security.alpha.kubernetes.io/unsafe-sysctls", "v1.11+", "sysctls"),
    )
}

DEPRECATED_VOLUMES = (
    ("photon_persistent_disk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("git_repo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scale_io", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_USE_SECCOMP_FIELD = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_POD = Path()
_WHOLE_RESOURCES = ("memory", "ephemeral-storage")


def pod_warnings(pod: Pod, old: Pod | None) -> list[str]:
    """Warnings for a pod that is created (``old`` is None) or changed."""
    found: list[str] = []
    if old is None:
        problems = names.dns_label_errors(pod.metadata.name or "")
        if problems:
            found.append(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
                f"a DNS label is recommended: [{' '.join(problems)}]"
            )
    return found + spec_warnings(_POD, pod.spec, pod.metadata)


def spec_warnings(path: Path, spec: PodSpec, metadata: ObjectMeta) -> list[str]:
    """Warnings for a pod or a template of one; ``path`` is where it stands (empty for a pod)."""
    here = path.child("spec")
    found: list[str] = []
    if spec.node_selector or spec.affinity is not None or spec.topology_spread_constraints:
        found += _scheduling(here, spec)
    if metadata.annotations:
        found += _annotations(path.child("metadata", "annotations"), spec, metadata)
    if spec.volumes:
        found += _volumes(here.child("volumes"), spec)
    if spec.host_aliases or spec.image_pull_secrets:
        found += _lists(here, spec)
    if spec.overhead:
        found += _fractions(here.child("overhead"), spec.overhead)
    if any(map(_says_more, spec.init_containers + spec.containers + spec.ephemeral_containers)):
        found += _containers(here, spec)
        found += _ports(here, spec)
    return found + _grace(here, spec)


def _says_more(container: AnyContainer) -> bool:
    """Whether a container has anything that there are warnings about."""
    resources = container.resources
    return bool(container.env or container.ports or resources.limits or resources.requests)


def _scheduling(path: Path, spec: PodSpec) -> Iterator[str]:
    for key in spec.node_selector:
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path.child('nodeSelector').key(key)}: {DEPRECATED_NODE_LABELS[key]}"
    affinity = spec.affinity
    if affinity is not None and affinity.node_affinity is not None:
        here, node = path.child("affinity", "nodeAffinity"), affinity.node_affinity
        required = node.required_during_scheduling_ignored_during_execution
        terms = here.child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
        for position, term in enumerate(required.node_selector_terms if required else ()):
            yield from _node_term(terms.index(position), term)
        preferred = here.child("preferredDuringSchedulingIgnoredDuringExecution")
        for position, weighted in enumerate(node.preferred_during_scheduling_ignored_during_execution):
            yield from _node_term(preferred.index(position).child("preference"), weighted.preference)
    for position, constraint in enumerate(spec.topology_spread_constraints):
        where = path.child("topologySpreadConstraints").index(position)
        if constraint.topology_key in DEPRECATED_NODE_LABELS:
            text = DEPRECATED_NODE_LABELS[constraint.topology_key]
            yield f"{where.child('topologyKey')}: {constraint.topology_key} is {text}"
        if constraint.label_selector is None:
            yield f"{where.child('labelSelector')}: {_NO_SELECTOR}"
    if affinity is not None:
        yield from _pod_affinity(path.child("affinity", "podAffinity"), affinity.pod_affinity)
        yield from _pod_affinity(path.child("affinity", "podAntiAffinity"), affinity.pod_anti_affinity)


def _node_term(path: Path, term: NodeSelectorTerm) -> Iterator[str]:
    for position, expression in enumerate(term.match_expressions):
        if expression.key in DEPRECATED_NODE_LABELS:
            where = path.child("matchExpressions").index(position).child("key")
            yield f"{where}: {expression.key} is {DEPRECATED_NODE_LABELS[expression.key]}"


def _pod_affinity(path: Path, affinity: PodAffinity | PodAntiAffinity | None) -> Iterator[str]:
    if affinity is None:
        return
    required = path.child("requiredDuringSchedulingIgnoredDuringExecution")
    for position, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        if term.label_selector is None:
            yield f"{required.index(position).child('labelSelector')}: {_NO_SELECTOR}"
    preferred = path.child("preferredDuringSchedulingIgnoredDuringExecution")
    for position, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if weighted.pod_affinity_term.label_selector is None:
            yield f"{preferred.index(position).child('podAffinityTerm', 'labelSelector')}: {_NO_SELECTOR}"


def _annotations(path: Path, spec: PodSpec, metadata: ObjectMeta) -> Iterator[str]:
    annotations = metadata.annotations
    for key, text in DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            yield f"{path.key(key)}: {text}"
    context = spec.security_context
    if SECCOMP_POD in annotations and (context is None or context.seccomp_profile is None):
        yield f"{path.key(SECCOMP_POD)}: {_USE_SECCOMP_FIELD}"
    for container, _ in each_container(spec, _POD):
        key = SECCOMP_CONTAINER + container.name
        own = container.security_context
        if key in annotations and (own is None or own.seccomp_profile is None):
            yield f"{path.key(key)}: {_USE_SECCOMP_FIELD}"


def _volumes(path: Path, spec: PodSpec) -> Iterator[str]:
    for position, volume in enumerate(spec.volumes):
        for attribute, name, text in DEPRECATED_VOLUMES:
            if getattr(volume, attribute) is not None:
                yield f"{path.index(position).child(name)}: {text}"
    tokens = {
        source.service_account_token.path
        for volume in spec.volumes
        for source in (volume.projected.sources if volume.projected else ())
        if source.service_account_token
    }
    if tokens:
        for position, volume in enumerate(spec.volumes):
            if volume.projected is not None:
                here = path.index(position).child("projected", "sources")
                yield from _hides_token(here, volume.projected, tokens)


def _hides_token(path: Path, volume: ProjectedVolumeSource, tokens: set[str]) -> Iterator[str]:
    for source in volume.sources:
        files = [("configMap", item.path) for item in (source.config_map.items if source.config_map else ())]
        files += [("secrets", item.path) for item in (source.secret.items if source.secret else ())]
        files += [
            ("downwardAPI", item.path) for item in (source.downward_api.items if source.downward_api else ())
        ]
        for position, (kind, file) in enumerate(files):
            if file in tokens:
                where = path.child(kind).index(position)
                yield f"{where}: has duplicated path with ServiceAccountToken {json.dumps(file)}"


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
        if not name:
            yield f'{where}: invalid empty name ""'


def _fractions(path: Path, resources: Mapping[str, str]) -> Iterator[str]:
    for name in _WHOLE_RESOURCES:
        if name in resources and parse(resources[name]).milli_value % 1000:
            value = json.dumps(str(parse(resources[name])))
            yield f"{path.key(name)}: fractional byte value {value} is invalid, must be an integer"


def _containers(path: Path, spec: PodSpec) -> Iterator[str]:
    for container, here in each_container(spec, path):
        resources = container.resources
        if resources.limits or resources.requests:
            yield from _fractions(here.child("resources", "limits"), resources.limits)
            yield from _fractions(here.child("resources", "requests"), resources.requests)
        seen: set[str] = set()
        for position, variable in enumerate(container.env):
            if variable.name in seen and _hides(variable):
                where, name = here.child("env").index(position), json.dumps(variable.name)
                yield f"{where}: hides previous definition of {name}, which may be dropped when using apply"
            seen.add(variable.name)


def _hides(variable: EnvVar) -> bool:
    """Whether a second definition forgets the first: it may build on it (``X: $(X)-more``)."""
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


def _grace(path: Path, spec: PodSpec) -> list[str]:
    grace = spec.termination_grace_period_seconds
    if grace is None or grace >= 0:
        return []
    where = path.child("terminationGracePeriodSeconds")
    return [f"{where}: must be >= 0; negative values are invalid and will be treated as 1"]
