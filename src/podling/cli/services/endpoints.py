"""Services whose pods exist and do not serve: not Ready, without the port, or not listening. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from podling.api.core_v1 import Pod, ServicePort
from podling.cli.evidence import Explanation, Source, logs_command, plural
from podling.cli.services.evidence import (
    CONNECTED,
    LOOPBACK,
    REFUSED,
    PortProbe,
    ServiceEvidence,
    port_text,
    target_of,
)
from podling.machinery.pods import is_ready, is_sidecar, is_terminal

NAMES_MAX = 5


def none_ready(evidence: ServiceEvidence) -> Explanation | None:
    """Every pod of the Service has ended or is not Ready."""
    selected, name = evidence.selected, evidence.name
    if not selected or evidence.ready_endpoints or evidence.serving_pods():
        return None
    living = [(pod, why) for pod, why in selected if not is_terminal(pod)]
    if not living:
        text = f"{name} has no endpoints: its selector matches {plural(len(selected), 'pod')}, and all have "
        text += "ended."
        advice = "Pods that ended serve nothing: run the program in a workload that replaces them, such as a "
        advice += "Deployment."
        sources = tuple(_phase(pod) for pod, _ in selected[:NAMES_MAX])
        return Explanation(area="service", reason="PodsEnded", text=text, advice=advice, evidence=sources)
    pod, why = next(((pod, why) for pod, why in living if not why.healthy), living[0])
    which = "Its only pod" if len(living) == 1 else "One of them"
    text = f"{name} has no Ready endpoint: 0 of its {plural(len(living), 'pod')} are Ready. {which} is "
    return structs.replace(why, healthy=False, text=f"{text}{pod.metadata.name}: {why.text}")


def _phase(pod: Pod) -> Source:
    return Source(kind="status", name=f"phase of {pod.metadata.name}", detail=pod.status.phase or "")


def missing_port(evidence: ServiceEvidence) -> Explanation | None:
    """A target port that is a name, which no pod has."""
    pods = evidence.serving_pods()
    for port in evidence.service.spec.ports:
        lacking = [pod for pod in pods if target_of(port, pod) is None]
        if pods and len(lacking) == len(pods):
            return _missing_port(evidence, port, pods[0])
    return None


def _missing_port(evidence: ServiceEvidence, port: ServicePort, pod: Pod) -> Explanation:
    protocol = port.protocol or "TCP"
    sidecars = (each for each in pod.spec.init_containers if is_sidecar(each))
    ports = [each for one in (*pod.spec.containers, *sidecars) for each in one.ports if each.name]
    text = f"{evidence.name} sends port {port_text(port)} nowhere: its targetPort {port.target_port} is the "
    text += f"name of a container port, and pod {pod.metadata.name} has "
    same = next((each for each in ports if each.name == port.target_port), None)
    if same is not None:
        text += f"a port of this name for {same.protocol or 'TCP'} only, not for {protocol}."
        advice = "Give both ports one protocol"
    elif ports:
        names = ", ".join(f"{each.name} ({each.container_port}/{each.protocol or 'TCP'})" for each in ports)
        text += f"only ports named {names}."
        advice = "Use one of these names, or a number"
    else:
        text += "no named port."
        advice = "Name the port in the pod's template, or use its number"
    return Explanation(
        area="service",
        reason="TargetPortNotFound",
        text=text,
        advice=f"{advice}: kubectl edit service {evidence.arguments}",
        evidence=(Source(kind="spec", name="spec.ports[].targetPort", detail=str(port.target_port)),),
    )


def missing_endpoints(evidence: ServiceEvidence) -> Explanation | None:
    """Pods are Ready, and no slice has them: the controller of endpoints does not work."""
    pods = evidence.serving_pods()
    if not pods or evidence.ready_endpoints:
        return None
    text = f"{evidence.name} has {plural(len(pods), 'Ready pod')}, and no EndpointSlice has them yet."
    return Explanation(
        area="service",
        reason="EndpointsNotWritten",
        text=text,
        advice="It takes a moment after a pod became Ready; if it stays so, see: podling status",
        evidence=tuple(
            Source(kind="status", name=f"readiness of {pod.metadata.name}", detail=f"Ready={is_ready(pod)}")
            for pod in pods[:NAMES_MAX]
        ),
    )


def refused(evidence: ServiceEvidence) -> Explanation | None:
    """A pod refuses connections to its target port: no process listens there."""
    failed = [probe for probe in evidence.probes if probe.outcome in (REFUSED, LOOPBACK)]
    if not failed:
        return None
    probe = failed[0]
    pod = next((pod for pod, _ in evidence.selected if pod.metadata.name == probe.pod), None)
    of_port = [each for each in evidence.probes if each.port == probe.port]
    count = sum(1 for each in of_port if each.outcome in (REFUSED, LOOPBACK))
    text = f"{evidence.name} has Ready endpoints, but nothing listens on port {probe.port} of "
    text += f"pod {probe.pod}: a connection to {probe.address} is refused"
    text += f" ({count} of {len(of_port)} pods tried)." if len(of_port) > 1 else "."
    if probe.outcome == LOOPBACK:
        text += f" Inside the pod, 127.0.0.1:{probe.port} answers."
        advice = "Let the process listen on every address (0.0.0.0), not on 127.0.0.1 only"
    else:
        advice = _port_advice(evidence, probe, pod)
    log = logs_command(pod, pod.spec.containers[0].name) if pod is not None else ""
    return Explanation(
        area="service",
        reason="ConnectionRefused",
        text=text,
        advice=f"{advice}; its log: {log}" if log else f"{advice}.",
        evidence=tuple(map(probe_source, failed[:NAMES_MAX])),
    )


def _port_advice(evidence: ServiceEvidence, probe: PortProbe, pod: Pod | None) -> str:
    declared = sorted(_declared(pod) - {probe.port}) if pod is not None else []
    answering = {each.port for each in evidence.probes if each.outcome == CONNECTED}
    advice = "Let targetPort be the port on which the process listens"
    better = [port for port in declared if port not in answering] or declared
    if better:
        return f"{advice}; the pod declares {', '.join(map(str, better))}"
    return advice


def _declared(pod: Pod) -> set[int]:
    return {each.container_port for container in pod.spec.containers for each in container.ports}


def probe_source(probe: PortProbe) -> Source:
    host = f"[{probe.address}]" if ":" in probe.address else probe.address
    return Source(kind="connection", name=f"connection to {host}:{probe.port}", detail=probe.outcome)


def unready_rest(evidence: ServiceEvidence) -> str:
    """Return a sentence about the pods that are not Ready beside those that are; empty for none."""
    living = [(pod, why) for pod, why in evidence.selected if not is_terminal(pod)]
    ill: Sequence[tuple[Pod, Explanation]] = [(pod, why) for pod, why in living if not is_ready(pod)]
    if not ill:
        return ""
    pod, why = ill[0]
    return f"{len(ill)} of its {plural(len(living), 'pod')} are not Ready; {pod.metadata.name}: {why.text}"
