"""Pods whose containers run: those that are well, and those that are not ready yet. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from podling.cli.evidence import (
    Evidence,
    Explanation,
    Source,
    all_statuses,
    condition_source,
    container_source,
    event_source,
    how_it_ended,
    logs_command,
    one_line,
    pod_arguments,
)
from podling.cli.explain_probes import probe_says
from podling.cli.services.names import name_facts
from podling.machinery.pods import condition, is_sidecar


def healthy(evidence: Evidence) -> Explanation | None:
    ready = condition(evidence.pod, "Ready")
    if ready is None or ready.status != "True":
        return None
    since = evidence.ago(ready.last_transition_time)
    text = f"Nothing is wrong: the pod is Running, and it has been Ready for {since}."
    restarted = [
        status
        for status in all_statuses(evidence.pod)
        if status.last_state.terminated and status.restart_count
    ]
    for status in restarted:
        last = status.last_state.terminated
        assert last is not None
        times = "once" if status.restart_count == 1 else f"{status.restart_count} times"
        how = how_it_ended(last, f"{evidence.ago(last.finished_at)} ago")
        text += f" Container {status.name} has been restarted {times}, though: before this run it {how}."
    return Explanation(
        healthy=True,
        area="none",
        reason="Ready",
        text=text,
        advice=f"Look at its log: {logs_command(evidence.pod, restarted[0].name, previous=True)}"
        if restarted
        else "",
        evidence=(*condition_source(evidence.pod, "Ready"), *map(container_source, restarted)),
    )


NO_NAMES = (
    "If it waits for the name of a Service, it waits for ever: its node has no cluster DNS server, which "
    "only nodes with Podling's own pod network have (runtime oci), and the pod uses the machine's resolver "
    "(MissingClusterDNS)."
)


def initializing(evidence: Evidence) -> Iterator[Explanation]:
    """Yield the init container that the next one waits for."""
    pod = evidence.pod
    statuses = {status.name: status for status in pod.status.init_container_statuses}
    for position, container in enumerate(pod.spec.init_containers, 1):
        status = statuses.get(container.name)
        if status is None or status.state.running is None or (is_sidecar(container) and status.started):
            continue
        total = len(pod.spec.init_containers)
        since = evidence.ago(status.state.running.started_at)
        waiter = "the next one waits" if position < total else "the pod waits"
        text = f"The pod is still being initialised: init container {container.name} ({position} of {total}) "
        text += f"has been running for {since}, and {waiter} for it to end."
        advice = f"See what it does: {logs_command(pod, container.name)}"
        sources: tuple[Source, ...] = (container_source(status),)
        if is_sidecar(container):
            text = (
                f"The pod is still being initialised: sidecar {container.name} has run for {since}, and what "
            )
            text += "comes after it waits for it to have started."
            said, advice, more = probe_says(evidence, container, "startup", container.startup_probe, status)
            text, sources = f"{text} {said}".strip(), (*sources, *more)
        elif (missing := evidence.last_event("MissingClusterDNS")) is not None:
            text += f" {NO_NAMES}"
            sources = (*sources, event_source(missing))
        else:
            said, better, more = name_facts(evidence, container)
            text, advice, sources = f"{text} {said}".strip(), better or advice, (*sources, *more)
        yield Explanation(
            area="init",
            reason=f"Init:{position - 1}/{total}",
            container=container.name,
            text=text,
            advice=advice,
            evidence=sources,
        )


def unready(evidence: Evidence) -> Iterator[Explanation]:
    """Containers that run and are not ready."""
    pod = evidence.pod
    containers = {c.name: c for c in (*pod.spec.containers, *filter(is_sidecar, pod.spec.init_containers))}
    for status in all_statuses(pod):
        container = containers.get(status.name)
        if container is None or status.ready or status.state.running is None:
            continue
        kind, probe = "readiness", container.readiness_probe
        if container.startup_probe is not None and not status.started:
            kind, probe = "startup", container.startup_probe
        said, advice, sources = probe_says(evidence, container, kind, probe, status)
        yield Explanation(
            area="probe",
            reason="ContainersNotReady",
            container=status.name,
            text=f"Container {status.name} runs, but is not ready. {said}".strip(),
            advice=advice,
            evidence=(container_source(status), *sources),
        )


def gated(evidence: Evidence) -> Explanation | None:
    """Every container is ready, and a readiness gate is not open."""
    pod = evidence.pod
    ready = condition(pod, "Ready")
    if ready is None or ready.reason != "ReadinessGatesNotReady":
        return None
    shut = []
    for gate in pod.spec.readiness_gates:
        found = condition(pod, gate.condition_type)
        if found is None or found.status != "True":
            said = (
                ": ".join(filter(None, (found.reason, one_line(found.message)))) if found is not None else ""
            )
            state = "has never been set" if found is None else f"is {found.status}"
            shut.append((gate.condition_type, f"{gate.condition_type} {state}{f' ({said})' if said else ''}"))
    said = ", ".join(text for _, text in shut)
    patch = f'{{"status":{{"conditions":[{{"type":"{shut[0][0]}","status":"True"}}]}}}}' if shut else "..."
    return Explanation(
        area="gate",
        reason="ReadinessGatesNotReady",
        text=f"Every container is ready, but a readiness gate is not open: {said}.",
        advice="Whoever owns the gate sets its condition in the pod's status; by hand: "
        f"kubectl patch pod {pod_arguments(pod)} --subresource=status -p '{patch}'",
        evidence=condition_source(pod, "Ready"),
    )
