"""Initial objects of a cluster: namespaces, roles, priority classes, and the server's Service.

Runs at every start. Missing objects are created, and default roles and bindings get back their missing rules.
All other content belongs to the cluster's users from then on. Only the objects that every cluster needs, the
namespaces and the Service, are created again when they are deleted.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from podling import clock
from podling.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Namespace,
    Service,
    ServicePort,
    ServiceSpec,
)
from podling.api.discovery_v1 import Endpoint as SliceEndpoint
from podling.api.discovery_v1 import EndpointConditions, EndpointSlice
from podling.api.discovery_v1 import EndpointPort as SlicePort
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from podling.api.scheduling_v1 import PriorityClass
from podling.apiserver.auth.default_roles import bootstrap_bindings, bootstrap_roles
from podling.apiserver.auth.namespace_roles import namespace_bindings, namespace_roles
from podling.apiserver.auth.role_reconciliation import reconciled_binding, reconciled_role
from podling.apiserver.background_tasks import keep_at
from podling.apiserver.registry.registry import Registry
from podling.apiserver.registry.service_ip_allocator import first_address
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery import errors
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.pods import CLUSTER_CRITICAL, NODE_CRITICAL, SYSTEM_PRIORITIES
from podling.machinery.scheme import resource_of

KEEP_SECONDS = 10.0
"""Interval of the check that they still exist (kube-apiserver's interval for its endpoints)."""
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
CRITICAL = {
    CLUSTER_CRITICAL: (
        "Used for system critical pods that must run in the cluster, but can be moved to another node "
        "if necessary."
    ),
    NODE_CRITICAL: "Used for system critical pods that must not be moved from their current node.",
}
"""The descriptions of the system's priority classes."""


class Endpoint(Struct, frozen=True):
    """Address of the server for pods: the Service's cluster address, and the address and port behind it.

    An empty ``address`` (or a loopback one, which no pod could reach) leaves the Service without endpoints.
    """

    cluster_ip: str = first_address()
    port: int = 6443
    address: str = ""
    """The address that the server advertises."""

    @property
    def reachable(self) -> bool:
        if not self.address:
            return False
        ip = ipaddress.ip_address(self.address)
        return not (ip.is_loopback or ip.is_unspecified)


async def bootstrap(registry: Registry, gates: Mapping[str, bool] = NO_GATES) -> None:
    """Create what is missing."""
    for obj in initial_objects(gates):
        await ensure(registry, obj)


async def announce(registry: Registry, endpoint: Endpoint) -> None:
    """Make the Service ``kubernetes`` lead to where the server listens now."""
    for obj in service_objects(endpoint):
        resource = resource_of(type(obj))
        target = Target(resource, obj.metadata.namespace or "", obj.metadata.name or "")
        stored = await ensure(registry, obj)
        wanted = (
            structs.replace(stored, spec=structs.replace(stored.spec, ports=obj.spec.ports))
            if isinstance(obj, Service)
            else structs.replace(obj, metadata=stored.metadata)
        )
        if wanted != stored:
            await registry.update(target, SYSTEM, wanted, WriteOptions())


async def keep(registry: Registry, endpoint: Callable[[], Endpoint]) -> None:
    """Bring back what is deleted of the namespaces and the Service, until cancelled or the store closes."""
    late = 0.0

    async def look() -> None:
        nonlocal late
        for name in NAMESPACES:
            await ensure(registry, Namespace(metadata=ObjectMeta(name=name)))
        await announce(registry, endpoint())
        late = await clock.sleep_until_round(KEEP_SECONDS, late=late)

    late = await clock.sleep_until_round(KEEP_SECONDS)
    await keep_at(look, "the namespaces and the Service kubernetes", seconds=KEEP_SECONDS)


def initial_objects(gates: Mapping[str, bool]) -> Iterator[Any]:
    """Everything a new cluster holds, in the order of creation."""
    for name in NAMESPACES:
        yield Namespace(metadata=ObjectMeta(name=name))
    yield from bootstrap_roles(gates)
    yield from bootstrap_bindings(gates)
    yield from namespace_roles()
    yield from namespace_bindings()
    for name, description in CRITICAL.items():
        yield PriorityClass(
            metadata=ObjectMeta(name=name), value=SYSTEM_PRIORITIES[name], description=description
        )


def service_objects(endpoint: Endpoint) -> Iterator[Any]:
    """Yield the Service ``kubernetes`` and, if pods can reach the server at all, its endpoints."""
    labels = {"component": "apiserver", "provider": "kubernetes"}
    yield Service(
        metadata=ObjectMeta(name="kubernetes", namespace="default", labels=labels),
        spec=ServiceSpec(
            type="ClusterIP",
            cluster_ip=endpoint.cluster_ip,
            cluster_ips=(endpoint.cluster_ip,),
            ports=(ServicePort(name="https", protocol="TCP", port=443, target_port=endpoint.port),),
        ),
    )
    if not endpoint.reachable:
        return
    port = EndpointPort(name="https", port=endpoint.port, protocol="TCP")
    subset = EndpointSubset(addresses=(EndpointAddress(ip=endpoint.address),), ports=(port,))
    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    metadata = ObjectMeta(name="kubernetes", namespace="default", labels=skip)
    yield Endpoints(metadata=metadata, subsets=(subset,))
    named = {"kubernetes.io/service-name": "kubernetes"}
    ready = EndpointConditions(ready=True)
    yield EndpointSlice(
        metadata=ObjectMeta(name="kubernetes", namespace="default", labels=named),
        address_type="IPv6" if ":" in endpoint.address else "IPv4",
        endpoints=(SliceEndpoint(addresses=(endpoint.address,), conditions=ready),),
        ports=(SlicePort(name="https", port=endpoint.port, protocol="TCP"),),
    )


async def ensure(registry: Registry, obj: Any) -> Any:
    """Create an object if it is missing; return it as stored. Roles and bindings get back missing parts."""
    resource = resource_of(type(obj))
    target = Target(resource, obj.metadata.namespace or "", obj.metadata.name)
    try:
        stored = await registry.get(target, SYSTEM)
    except errors.ApiError as error:
        if not errors.is_not_found(error):
            raise
        return await registry.create(_collection(target), SYSTEM, obj, WriteOptions())
    wanted = stored
    if isinstance(obj, ClusterRole | Role):
        wanted = reconciled_role(stored, obj)
    elif isinstance(obj, ClusterRoleBinding | RoleBinding):
        wanted = reconciled_binding(stored, obj)
    return stored if wanted == stored else await registry.update(target, SYSTEM, wanted, WriteOptions())


def _collection(target: Target) -> Target:
    """Return the collection that ``target`` is in."""
    return Target(target.resource, target.namespace)
