"""Containers that do not stay up: how they end, why they were killed, when they are started again. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from podling.api.core_v1 import ContainerStateTerminated, ContainerStatus, Event
from podling.cli.evidence import (
    Evidence,
    Explanation,
    Source,
    all_statuses,
    container_named,
    container_source,
    event_source,
    how_it_ended,
    logs_command,
    one_line,
    signal_name,
)
from podling.cli.explain_probes import describe
from podling.cli.recorded_events import moment_of
from podling.machinery.pods import is_sidecar
from podling.machinery.tables import human_duration

CLOSE = timedelta(seconds=5)
"""Events and statuses have whole seconds, and one is written a little after the other."""


def crashing(evidence: Evidence) -> Iterator[Explanation]:
    """Containers between two runs, and those that will not run again."""
    for status in all_statuses(evidence.pod):
        waiting, ended = status.state.waiting, status.state.terminated
        if waiting is not None and waiting.reason == "CrashLoopBackOff" and status.last_state.terminated:
            yield _looping(evidence, status, status.last_state.terminated, waiting.message or "")
        elif ended is not None and (ended.exit_code != 0 or not _is_done(evidence, status)):
            yield _over(evidence, status, ended)


def _is_done(evidence: Evidence, status: ContainerStatus) -> bool:
    """Return whether the container only has to succeed once: it is an init container."""
    container = container_named(evidence.pod, status.name)
    initial = container in evidence.pod.spec.init_containers
    return initial and container is not None and not is_sidecar(container)


def _looping(
    evidence: Evidence, status: ContainerStatus, last: ContainerStateTerminated, message: str
) -> Explanation:
    killing = killed_for(evidence, status, last)
    text = f"Container {status.name} keeps ending: run number {status.restart_count + 1} "
    text += f"{_ended(evidence, status, last)}; {_next_start(evidence, last, message)}."
    return Explanation(
        area=_area(killing),
        reason="CrashLoopBackOff",
        container=status.name,
        text=text,
        advice=crash_advice(evidence, status) or _see_log(evidence, status),
        evidence=(container_source(status), *_sources(evidence, status, killing)),
    )


def _over(evidence: Evidence, status: ContainerStatus, ended: ContainerStateTerminated) -> Explanation:
    policy = _policy(evidence, status)
    comes_back = policy == "Always" or (policy == "OnFailure" and ended.exit_code != 0)
    goes_on = "it is about to be started again" if comes_back else f"its restart policy, {policy}, lets it be"
    left = (
        ""
        if comes_back
        else "; the pod cannot be Ready without it, and is over when its other containers are"
    )
    killing = killed_for(evidence, status, ended)
    return Explanation(
        area=_area(killing),
        reason=ended.reason or "Error",
        container=status.name,
        text=f"Container {status.name} {_ended(evidence, status, ended)}, and {goes_on}{left}.",
        advice=crash_advice(evidence, status) or _see_log(evidence, status),
        evidence=(container_source(status), *_sources(evidence, status, killing)),
    )


def _ended(evidence: Evidence, status: ContainerStatus, ended: ContainerStateTerminated) -> str:
    """Return how and when a run ended, and its killer, if any."""
    when = f"{evidence.ago(ended.finished_at)} ago{_after(ended)}"
    return _was_killed(evidence, status, ended, when) or how_it_ended(ended, when)


def _policy(evidence: Evidence, status: ContainerStatus) -> str:
    container = container_named(evidence.pod, status.name)
    own = container.restart_policy if container is not None else None
    return own or evidence.pod.spec.restart_policy or "Always"


def _after(ended: ContainerStateTerminated) -> str:
    if ended.started_at is None or ended.finished_at is None or ended.reason == "StartError":
        return ""
    seconds = ended.finished_at - ended.started_at
    return (
        " after less than a second" if seconds < timedelta(seconds=1) else f" after {human_duration(seconds)}"
    )


def _next_start(evidence: Evidence, last: ContainerStateTerminated, message: str) -> str:
    """When the back-off that the status names is over."""
    pause = re.search(r"back-off ((?:\d+h)?(?:\d+m)?(?:\d+s)?) ", message)
    if pause is None or last.finished_at is None:
        return "it is started again after a pause"
    parts = {unit: int(amount) for amount, unit in re.findall(r"(\d+)([hms])", pause[1])}
    length = timedelta(hours=parts.get("h", 0), minutes=parts.get("m", 0), seconds=parts.get("s", 0))
    left = last.finished_at + length - evidence.now
    when = f"in about {human_duration(left)}" if left > timedelta() else "any moment"
    return f"it is started again {when}, when the back-off of {pause[1]} is over"


def killed_for(evidence: Evidence, status: ContainerStatus, ended: ContainerStateTerminated) -> Event | None:
    """Return the event with the reason why the kubelet itself ended that run; None if it did not.

    After many events about a pod, its kubelet records fewer: the newest such event counts for every later
    run, and without any, a failing probe that kills counts as the reason.
    """
    container = container_named(evidence.pod, status.name)
    if container is None or ended.reason in ("OOMKilled", "StartError"):
        return None
    killing = evidence.last_event("Killing", container=status.name)
    if killing is not None and re.search("failed .* probe|FailedPostStartHook", killing.message or ""):
        late = ended.finished_at is not None and moment_of(killing) > ended.finished_at + CLOSE
        return None if late else killing
    for probe, word in ((container.startup_probe, "Startup"), (container.liveness_probe, "Liveness")):
        failing = evidence.last_event("Unhealthy", container=status.name, says=f"{word} probe failed")
        if probe is not None and failing is not None and killing is None:
            return failing
    return None


def _was_killed(
    evidence: Evidence, status: ContainerStatus, ended: ContainerStateTerminated, when: str
) -> str:
    killing = killed_for(evidence, status, ended)
    if killing is None:
        return ""
    container, told = container_named(evidence.pod, status.name), killing.message or ""
    if "FailedPostStartHook" in told:
        return f"was killed {when} because its postStart hook failed (exit code {ended.exit_code})"
    kind = "startup" if "startup" in told.lower() else "liveness"
    unhealthy = evidence.last_event("Unhealthy", container=status.name, says=f"{kind.capitalize()} probe")
    said = one_line((unhealthy.message or "").partition(": ")[2]) if unhealthy is not None else ""
    probe = container and (container.startup_probe if kind == "startup" else container.liveness_probe)
    asked = f" ({describe(probe)})" if probe else ""
    times = f" {probe.failure_threshold or 3} times in a row" if probe else ""
    because = "because" if killing.reason == "Killing" else "most likely because"
    why = f"{times}{f': {said}' if said else ''} (exit code {ended.exit_code})"
    return f"was killed {when} {because} its {kind} probe{asked} failed{why}"


def _area(killing: Event | None) -> str:
    if killing is None:
        return "crash"
    return "hook" if "PostStart" in (killing.message or "") else "probe"


def _sources(evidence: Evidence, status: ContainerStatus, killing: Event | None) -> tuple[Source, ...]:
    if killing is None:
        return ()
    told = evidence.last_event("Unhealthy", "FailedPostStartHook", container=status.name)
    return (event_source(killing), *((event_source(told),) if told is not None else ()))


def _see_log(evidence: Evidence, status: ContainerStatus) -> str:
    previous = status.state.terminated is None
    return f"See what it said: {logs_command(evidence.pod, status.name, previous=previous)}"


def crash_advice(evidence: Evidence, status: ContainerStatus) -> str:
    """Return an explanation of the container's end; empty if only its log can explain it."""
    ended = status.state.terminated or status.last_state.terminated
    container = container_named(evidence.pod, status.name)
    if ended is None or container is None:
        return ""
    killing = killed_for(evidence, status, ended)
    log = logs_command(evidence.pod, status.name, previous=status.state.terminated is None)
    if killing is not None and _area(killing) == "hook":
        return "Correct lifecycle.postStart, or try its command by hand in a container without the hook."
    if killing is not None:
        return (
            "Let the process answer in time, or give the probe more room (initialDelaySeconds, "
            f"timeoutSeconds, failureThreshold, or a startupProbe); what it said: {log}"
        )
    if ended.reason == "OOMKilled":
        limit = container.resources.limits.get("memory", "")
        return f"Raise resources.limits.memory{f' (now {limit})' if limit else ''}, or let it use less."
    if ended.reason == "StartError" and 'exec: "' not in (ended.message or ""):
        return "Correct what it is made of: its mounts, its working directory, its security context."
    if ended.reason == "StartError" or ended.exit_code in (126, 127):
        return "Correct command and args: the image must have the program, executable; see its mounts, too."
    if ended.exit_code == 0 and _policy(evidence, status) == "Always":
        return (
            "Keep its process in the foreground, for Always means that it should run on; work that ends "
            f"belongs in a Job, or under restartPolicy OnFailure. Its log: {log}"
        )
    if signal_name(ended) == "SIGKILL":
        return (
            "Nobody in the cluster is on record for it: look for who kills inside the container, or whether "
            f"the machine ran out of memory. Its log: {log}"
        )
    return ""
