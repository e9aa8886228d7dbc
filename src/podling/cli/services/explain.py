"""Why a Service does not lead to pods: the decision behind ``podling why service/NAME``. Pure.

Causes are checked along the way of a packet: the name, the address, the endpoints, the policies, the port of
the pod; then what only some clients notice: a traffic policy and the load balancer. The first that holds is
the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network

from podling.cli.evidence import Explanation, Source, event_source, one_line, plural
from podling.cli.services import endpoints, policies, selection
from podling.cli.services.evidence import SILENT, ServiceEvidence, port_text
from podling.controllers.endpoints import load_balancer_rules

Question = Callable[[ServiceEvidence], Explanation | None]
CLUSTER_SUFFIX = ".svc.cluster.local"
ADDRESSES_MAX = 4


def explain_service(evidence: ServiceEvidence) -> Explanation:
    """Return the reason why the Service does not serve, or how it does."""
    found = (answer for question in QUESTIONS if (answer := question(evidence)) is not None)
    return next(found, None) or _healthy(evidence)


def _deleting(evidence: ServiceEvidence) -> Explanation | None:
    metadata = evidence.service.metadata
    if metadata.deletion_timestamp is None:
        return None
    finalizers = ", ".join(metadata.finalizers)
    return Explanation(
        area="deletion",
        reason="Terminating",
        text=f"{evidence.name} is being deleted, and waits for its finalizers: {finalizers}.",
        advice="The controller of each finalizer removes it; if that controller is gone, remove it by hand: "
        f"kubectl edit service {evidence.arguments}",
        evidence=(Source(kind="spec", name="metadata.finalizers", detail=finalizers),),
    )


def _external_name(evidence: ServiceEvidence) -> Explanation | None:
    """ExternalName: DNS answers with another name, and there is nothing else."""
    spec = evidence.service.spec
    if spec.type != "ExternalName":
        return None
    source = Source(kind="spec", name="spec.externalName", detail=spec.external_name)
    begun = (
        f"{evidence.name} is only another name for {spec.external_name}: it has no address and no endpoints, "
    )
    begun += "and its ports have no meaning"
    target = _cluster_name(spec.external_name)
    if _is_address(spec.external_name):
        text = (
            f"{begun}. {spec.external_name} is an address, though, and DNS cannot answer with it as a name."
        )
        advice = "Use a Service without a selector, and an EndpointSlice with this address."
        return Explanation(area="dns", reason="ExternalName", text=text, advice=advice, evidence=(source,))
    if target is not None and target not in evidence.services:
        namespace, name = target
        text = f"{begun}. There is no Service {name} in namespace {namespace}, though, so the name does not "
        text += "resolve."
        advice = f"Correct it: kubectl edit service {evidence.arguments}"
        return Explanation(area="dns", reason="ExternalName", text=text, advice=advice, evidence=(source,))
    return Explanation(
        healthy=True,
        area="none",
        reason="ExternalName",
        text=f"Nothing is wrong that can be seen from here: {begun}.",
        evidence=(source,),
    )


def _cluster_name(name: str) -> tuple[str, str] | None:
    """Return namespace and name of the Service that a name of the cluster stands for; None for others."""
    labels = name.rstrip(".").removesuffix(CLUSTER_SUFFIX).split(".")
    is_inside = name.rstrip(".").endswith(CLUSTER_SUFFIX)
    return (labels[-1], labels[-2]) if is_inside and len(labels) >= 2 else None


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _out_of_range(evidence: ServiceEvidence) -> Explanation | None:
    """A cluster IP that no node forwards: it is of another range than the cluster's."""
    networks = [ip_network(each) for each in evidence.ranges]
    for text in evidence.service.spec.cluster_ips:
        if not networks or not _is_address(text):
            continue
        address = ip_address(text)
        same = [network for network in networks if network.version == address.version]
        if any(address in network for network in same):
            continue
        shown = ", ".join(map(str, same or networks))
        return Explanation(
            area="service",
            reason="ClusterIPOutOfRange",
            text=f"{evidence.name} has the cluster IP {text}, which is not within the range of Services, "
            f"{shown}.",
            advice="Delete the Service and create it again without clusterIP: it gets one of the range.",
            evidence=(Source(kind="spec", name="spec.clusterIP", detail=text),),
        )
    return None


def _no_selector(evidence: ServiceEvidence) -> Explanation | None:
    """Without a selector endpoints are written by its owner."""
    if evidence.service.spec.selector or evidence.ready_endpoints:
        return None
    name = evidence.service.metadata.name
    given = len(evidence.endpoints)
    how = (
        f"and none of its {plural(given, 'endpoint')} is ready"
        if given
        else "and nothing has written endpoints for it"
    )
    return Explanation(
        area="service",
        reason="NoEndpoints",
        text=f"{evidence.name} has no selector, so no controller looks for its pods, {how}.",
        advice="Add a selector, or create an EndpointSlice with the label "
        f"kubernetes.io/service-name={name} and the addresses.",
        evidence=(Source(kind="spec", name="spec.selector", detail="empty"),),
    )


def _no_local_endpoints(evidence: ServiceEvidence) -> Explanation | None:
    """Traffic that stays on its node finds no endpoint on any."""
    spec = evidence.service.spec
    for policy, text in (
        ("internalTrafficPolicy", spec.internal_traffic_policy),
        ("externalTrafficPolicy", spec.external_traffic_policy),
    ):
        if text == "Local" and not load_balancer_rules.ready_nodes(evidence.slices):
            shown = (
                f"{evidence.name} has {policy}: Local, and none of its endpoints says on which node it is, "
            )
            return Explanation(
                area="service",
                reason="NoLocalEndpoints",
                text=f"{shown}so traffic to it is dropped on every node.",
                advice=f"Set nodeName in its endpoints, or {policy}: Cluster.",
                evidence=(Source(kind="spec", name=f"spec.{policy}", detail="Local"),),
            )
    return None


def _pending_balancer(evidence: ServiceEvidence) -> Explanation | None:
    """A LoadBalancer without an address."""
    service = evidence.service
    if service.spec.type != "LoadBalancer" or service.status.load_balancer.ingress:
        return None
    begun = f"{evidence.name} serves inside the cluster, and waits for the address of a load balancer"
    field = Source(kind="status", name="status.loadBalancer", detail="empty")
    if load_balancer_rules.is_foreign(service):
        class_ = service.spec.load_balancer_class
        source = Source(kind="spec", name="spec.loadBalancerClass", detail=class_ or "")
        return Explanation(
            area="service",
            reason="LoadBalancerPending",
            text=f"{begun}: its class is {class_}, which another controller has to serve.",
            advice=f"Install that controller, or create the Service without loadBalancerClass to get the "
            f"addresses of nodes (class {load_balancer_rules.LOAD_BALANCER_CLASS}).",
            evidence=(field, source),
        )
    failed = evidence.last_event("SyncLoadBalancerFailed", "UnAvailableLoadBalancer")
    why = f": {one_line(failed.message)}" if failed is not None else ", and no event says why"
    advice = f"See: kubectl describe service {evidence.arguments}"
    if failed is not None and "is used by" in (failed.message or ""):
        advice = "Use another port, or another type: the port of a node's address belongs to one Service."
    elif load_balancer_rules.is_local(service) and not load_balancer_rules.ready_nodes(evidence.slices):
        why += "; under externalTrafficPolicy Local only nodes with Ready endpoints have one"
    elif failed is not None and failed.reason == "UnAvailableLoadBalancer":
        advice = "A node serves while it is Ready and has no label "
        advice += f"{load_balancer_rules.EXCLUDE_LABEL}: kubectl get nodes --show-labels"
    return Explanation(
        area="service",
        reason="LoadBalancerPending",
        text=f"{begun}{why}.",
        advice=advice,
        evidence=(field, *((event_source(failed),) if failed is not None else ())),
    )


def _healthy(evidence: ServiceEvidence) -> Explanation:
    service, spec = evidence.service, evidence.service.spec
    ready = [address for each in evidence.ready_endpoints for address in each.addresses]
    shown = ", ".join(ready[:ADDRESSES_MAX]) + (" ..." if len(ready) > ADDRESSES_MAX else "")
    text = f"Nothing is wrong: {evidence.name} leads from {_front(evidence)} to "
    text += f"{plural(len(ready), 'Ready endpoint')} ({shown})."
    if spec.cluster_ip == "None":
        text = f"Nothing is wrong: {evidence.name} is headless. Its name stands for the addresses of its "
        text += f"{plural(len(ready), 'Ready endpoint')} ({shown}), and no cluster IP exists to connect to."
    admitted, sources = policies.admitted_peers(evidence)
    silent = [probe for probe in evidence.probes if probe.outcome == SILENT]
    notes = [endpoints.unready_rest(evidence), _nodes_without(evidence), admitted]
    notes += (
        [f"Pod {silent[0].pod} did not answer on port {silent[0].port} within a second."] if silent else []
    )
    detail = f"{len(ready)} ready of {len(evidence.endpoints)}"
    slices = Source(kind="status", name=f"endpoint slices of {service.metadata.name}", detail=detail)
    return Explanation(
        healthy=True,
        area="none",
        reason="Ready",
        text=" ".join(filter(None, (text, *notes))),
        evidence=(slices, *map(endpoints.probe_source, evidence.probes[:ADDRESSES_MAX]), *sources),
    )


def _front(evidence: ServiceEvidence) -> str:
    service, spec = evidence.service, evidence.service.spec
    addresses = [*spec.cluster_ips, *(point.ip for point in service.status.load_balancer.ingress if point.ip)]
    ports = ", ".join(map(port_text, spec.ports))
    return f"{', '.join(addresses)} port {ports}"


def _nodes_without(evidence: ServiceEvidence) -> str:
    """Return a sentence about nodes whose pods or clients find no endpoint under a Local policy."""
    spec = evidence.service.spec
    names = {node.metadata.name or "" for node in evidence.nodes}
    lacking = sorted(names - load_balancer_rules.ready_nodes(evidence.slices))
    if not lacking:
        return ""
    if spec.internal_traffic_policy == "Local":
        return f"Under internalTrafficPolicy Local, pods on node {', '.join(lacking)} reach none."
    if spec.external_traffic_policy == "Local":
        return (
            f"Under externalTrafficPolicy Local, node {', '.join(lacking)} accepts no traffic from outside."
        )
    return ""


QUESTIONS: tuple[Question, ...] = (
    _deleting,
    _external_name,
    _out_of_range,
    _no_selector,
    selection.nothing_selected,
    endpoints.none_ready,
    endpoints.missing_port,
    endpoints.missing_endpoints,
    policies.denied,
    endpoints.refused,
    _no_local_endpoints,
    _pending_balancer,
)
