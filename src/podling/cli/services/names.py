"""Names of Services that a container looks up, read from its command, and what they stand for. Pure.

A container that waits for a Service usually names it in a loop of its command, as in
``until nslookup myservice; do sleep 2; done``. What else it may wait for cannot be seen from outside.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from podling.api.core_v1 import Container, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.cli.evidence import Evidence, Source, plural
from podling.controllers.endpoints.slice_rules import SERVICE_NAME

_NAMESPACE = re.compile(r"\$\(\s*(?:cat|<)\s+/var/run/secrets/kubernetes\.io/serviceaccount/namespace\s*\)")
_LOOKUP = re.compile(
    r"(?:\b(?:nslookup|dig|host|getent\s+a?hosts(?:v[46])?|ping|nc)\s+(?:-\S+\s+(?:\d+\s+)?)*|\w+://)"
    r"(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)"
)
_INSIDE = ("svc", "cluster", "local")

Name = tuple[str, str]
"""Namespace and name of a Service."""


def looked_up(container: Container, namespace: str) -> list[Name]:
    """Return the Services whose names the container's command looks up, if they can be names of Services.

    Full names outside of the cluster's domain are left out, as are names of single pods.
    """
    text = _NAMESPACE.sub(namespace, " ".join((*container.command, *container.args)))
    found = (_service_name(match["name"], namespace) for match in _LOOKUP.finditer(text))
    return list(dict.fromkeys(each for each in found if each is not None))


def _service_name(text: str, namespace: str) -> Name | None:
    labels = text.split(".")
    if all(label.isdigit() for label in labels) or labels == ["localhost"]:
        return None
    if len(labels) == 1:
        return namespace, labels[0]
    name, space, *domain = labels
    return (space, name) if tuple(domain) == _INSIDE[: len(domain)] and len(domain) != 2 else None


def name_facts(evidence: Evidence, container: Container) -> tuple[str, str, tuple[Source, ...]]:
    """Return what is known of the names that a container looks up: text, advice and sources; or nothing."""
    said = list(_facts(evidence, container))
    return next((each for each in said if each[1]), said[0] if said else ("", "", ()))


def _facts(evidence: Evidence, container: Container) -> Iterator[tuple[str, str, tuple[Source, ...]]]:
    """Yield the facts of each name; those with advice are in the way."""
    services = {(each.metadata.namespace or "", each.metadata.name or ""): each for each in evidence.services}
    for namespace, name in looked_up(container, evidence.pod.metadata.namespace or ""):
        service = services.get((namespace, name))
        source = Source(
            kind="spec", name=f"command of {container.name}", detail=f"looks up {name}.{namespace}"
        )
        if service is None:
            if not _may_be_a_service(namespace, services, evidence):
                continue
            text = (
                f"Its command looks up {name}, and there is no Service {name} in namespace {namespace}, so "
            )
            text += "the name does not resolve."
            near = difflib.get_close_matches(name, [other for space, other in services if space == namespace])
            advice = f"Is the Service {near[0]} meant? Correct the name, or create" if near else "Create"
            yield text, f"{advice} the Service {name}: the name then resolves without a restart.", (source,)
        else:
            yield *_resolution(service, evidence.slices), (source,)


def _may_be_a_service(namespace: str, services: Iterable[Name], evidence: Evidence) -> bool:
    """Return whether a two-part name may be one of the cluster: its second part is a known namespace."""
    return namespace == evidence.pod.metadata.namespace or any(space == namespace for space, _ in services)


def _resolution(service: Service, slices: Iterable[EndpointSlice]) -> tuple[str, str]:
    """Return what the name of an existing Service stands for, and advice if that is nothing."""
    metadata, spec = service.metadata, service.spec
    begun = f"Its command looks up {metadata.name}"
    if spec.type == "ExternalName":
        return f"{begun}, which is another name for {spec.external_name}.", ""
    if spec.cluster_ip != "None":
        return f"{begun}, and the Service has the address {spec.cluster_ip}.", ""
    ready = [
        endpoint
        for each in slices
        if each.metadata.namespace == metadata.namespace
        and each.metadata.labels.get(SERVICE_NAME) == metadata.name
        for endpoint in each.endpoints
        if endpoint.conditions.ready is not False
    ]
    if ready:
        return f"{begun}, which stands for {plural(len(ready), 'Ready endpoint')}.", ""
    text = f"{begun}, a headless Service without a Ready endpoint, so its name has no address."
    suffix = f" -n {metadata.namespace}" if metadata.namespace not in (None, "", "default") else ""
    return text, f"See why it has none: podling why service/{metadata.name}{suffix}"
