"""The facts about a pod that scheduling needs, computed once and not for every node.

Resources are plain numbers: CPU in thousandths, everything else in whole units, both rounded up. A pod
that runs counts with the maximum of its requests, its allocation and its actual resources (a resize in
progress), unless the node found the resize infeasible.

Upstream: ``pkg/scheduler/framework/types.go``, ``component-helpers/resource/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field, structs

from podling.api.core_v1 import Container, Pod, PodSpec, ResourceRequirements, Volume
from podling.machinery.pods import is_sidecar, pod_requests
from podling.machinery.resized_pods import effective_spec, statuses_with_resources
from podling.scheduler.columns import AMOUNT_MAX
from podling.scheduler.terms import Term, read_preferred, read_required
from podling.scheduler.volume_facts import claims_of, disks_of

UNSET_CPU = "100m"
UNSET_MEMORY = str(200 * 1024 * 1024)
"""The requests with which a container without any counts when nodes are scored."""

ANY_ADDRESS = "0.0.0.0"


class HostPort(Struct, frozen=True):
    protocol: str
    port: int
    address: str


class Affinities(Struct, frozen=True):
    """Affinity to other pods; empty for most."""

    required: tuple[Term, ...] = ()
    required_anti: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()
    preferred_anti: tuple[Term, ...] = ()


NO_AFFINITIES = Affinities()


class PodFacts(Struct, frozen=True, eq=False):
    """``requests`` decide whether a pod fits; ``scored`` (CPU, memory) how full it makes a node look."""

    pod: Pod
    requests: Mapping[str, int]
    scored: tuple[int, int]
    ports: tuple[HostPort, ...]
    affinities: Affinities = field(default=NO_AFFINITIES)
    claims: tuple[str, ...] = ()
    """The names of its claims, those made for it included."""
    disks: tuple[Volume, ...] = ()
    """Its volumes that name a disk which not every pod may share."""

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid or ""

    @property
    def namespace(self) -> str:
        return self.pod.metadata.namespace or ""

    @property
    def name(self) -> str:
        return self.pod.metadata.name or ""

    @property
    def labels(self) -> Mapping[str, str]:
        return self.pod.metadata.labels

    @property
    def spec(self) -> PodSpec:
        return self.pod.spec

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0

    @property
    def terminating(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None


def facts_of(pod: Pod) -> PodFacts:
    """Everything in one pass; cheap for pods without affinity and status resources."""
    spec = effective_spec(pod)
    requests = amounts(spec)
    if "cpu" in requests and "memory" in requests and _all_ask(spec):
        scored = requests["cpu"], requests["memory"]
    else:
        filled = amounts(_with_something_asked(spec))
        scored = filled.get("cpu", 0), filled.get("memory", 0)
    facts = PodFacts(pod, requests, scored, _host_ports(spec), _affinities(pod))
    if not pod.spec.volumes:
        return facts
    return structs.replace(
        facts, claims=tuple(name for name, _ in claims_of(pod)), disks=tuple(disks_of(pod))
    )


def facts_of_bound(pod: Pod, pending: PodFacts) -> PodFacts:
    """Return the facts of a pod that now has a node; ``pending``: its facts before.

    Binding changes only the name of the node and labels. No amount depends on them: the old ones are kept.
    """
    same_spec = structs.replace(pod.spec, node_name=pending.spec.node_name) == pending.spec
    if not same_spec or statuses_with_resources(pod):
        return facts_of(pod)
    return structs.replace(pending, pod=pod)


def amounts(spec: PodSpec) -> dict[str, int]:
    """Return the pod's requests as numbers, without zeros."""
    found = {
        name: min(value.milli_value if name == "cpu" else value.value, AMOUNT_MAX)
        for name, value in pod_requests(spec).items()
    }
    return {name: amount for name, amount in found.items() if amount}


def _all_ask(spec: PodSpec) -> bool:
    return all(
        "cpu" in container.resources.requests and "memory" in container.resources.requests
        for container in (*spec.init_containers, *spec.containers)
    )


def _with_something_asked(spec: PodSpec) -> PodSpec:
    def filled(container: Container) -> Container:
        requests = {"cpu": UNSET_CPU, "memory": UNSET_MEMORY} | container.resources.requests
        return structs.replace(container, resources=ResourceRequirements(requests=requests))

    return structs.replace(
        spec,
        containers=tuple(filled(container) for container in spec.containers),
        init_containers=tuple(filled(container) for container in spec.init_containers),
    )


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    sidecars = (container for container in spec.init_containers if is_sidecar(container))
    return tuple(
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_ADDRESS)
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if port.host_port
    )


def _affinities(pod: Pod) -> Affinities:
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_AFFINITIES
    namespace = pod.metadata.namespace or ""
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    return Affinities(
        read_required(near.required_during_scheduling_ignored_during_execution, namespace) if near else (),
        read_required(apart.required_during_scheduling_ignored_during_execution, namespace) if apart else (),
        read_preferred(near.preferred_during_scheduling_ignored_during_execution, namespace) if near else (),
        read_preferred(apart.preferred_during_scheduling_ignored_during_execution, namespace)
        if apart
        else (),
    )
