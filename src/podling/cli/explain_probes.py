"""Problems with probes: the probe, and its results so far. Pure."""

from __future__ import annotations

import shlex
from datetime import timedelta

from podling.api.core_v1 import Container, ContainerStatus, Probe
from podling.cli.evidence import Evidence, Source, event_source, logs_command, one_line, pod_arguments
from podling.machinery.tables import human_duration

Said = tuple[str, str, tuple[Source, ...]]
"""The finding about a probe: text, advice, sources."""


def probe_says(
    evidence: Evidence, container: Container, kind: str, probe: Probe | None, status: ContainerStatus
) -> Said:
    """Return why a container's probe fails, and the advice."""
    log = logs_command(evidence.pod, container.name)
    if probe is None:
        return "", f"See what it does: {log}", ()
    asked = f"Its {kind} probe ({describe(probe)}, every {probe.period_seconds or 10}s)"
    started = status.state.running.started_at if status.state.running is not None else None
    unhealthy = evidence.last_event("Unhealthy", container=container.name, says=f"{kind.capitalize()} probe")
    if unhealthy is not None:
        message = one_line((unhealthy.message or "").partition(": ")[2])
        said = message or "the command failed and printed nothing"
        source = event_source(unhealthy)
        times = f"{source.count} time{'' if source.count == 1 else 's'}"
        text = f"{asked} has failed {times}, the last time recorded {evidence.ago(source.last)} ago: {said}."
        return text, _probe_advice(evidence, container, probe, said, log), (source,)
    first = started + timedelta(seconds=probe.initial_delay_seconds or 0) if started is not None else None
    if first is not None and first > evidence.now:
        when = human_duration(first - evidence.now)
        return (
            f"{asked} is first made in {when} (initialDelaySeconds {probe.initial_delay_seconds}).",
            "Wait.",
            (),
        )
    return f"{asked} has not succeeded yet, and no failure is on record.", f"Wait a moment, or see: {log}", ()


def describe(probe: Probe) -> str:
    """Return a short description of a probe."""
    if probe.exec is not None:
        return f"exec {one_line(' '.join(probe.exec.command), 60)}"
    if probe.http_get is not None:
        get = probe.http_get
        return f"GET {(get.scheme or 'http').lower()}://{get.host or ''}:{get.port}{get.path or '/'}"
    if probe.tcp_socket is not None:
        return f"TCP {probe.tcp_socket.host or ''}:{probe.tcp_socket.port}"
    if probe.grpc is not None:
        return f"gRPC :{probe.grpc.port}"
    return "nothing"


def _probe_advice(evidence: Evidence, container: Container, probe: Probe, said: str, log: str) -> str:
    text = said.lower()
    if "timed out" in text or "deadline exceeded" in text or "timeout" in text:
        return f"Make it answer within {probe.timeout_seconds or 1}s, or raise timeoutSeconds; its log: {log}"
    if "refused" in text or "cannot connect" in text:
        return (
            "Nothing listens there: let the process listen on this port and on the pod's address, not on "
            f"127.0.0.1; its log: {log}"
        )
    if probe.exec is not None:
        name = f"{pod_arguments(evidence.pod)} -c {container.name}"
        return f"Run it yourself: kubectl exec {name} -- {' '.join(map(shlex.quote, probe.exec.command))}"
    return f"See why it answers so: {log}"
