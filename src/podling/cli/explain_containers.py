"""Troubles of a pod's containers: volumes, images, crashes, probes, gates, and how they ended."""

from __future__ import annotations

from podling.api.core_v1 import Container, ContainerStatus, Pod, Probe
from podling.cli.evidence import Evidence, Explanation, all_statuses, how_it_ended, logs_command, time_since
from podling.machinery.pods import condition, is_sidecar


def ended(evidence: Evidence) -> Explanation | None:
    pod = evidence.pod
    status = pod.status
    if status.phase == "Succeeded":
        return Explanation(
            healthy=True, area="end", reason="Completed", text="The pod has done its work and ended well."
        )
    if status.phase != "Failed":
        return None
    if status.reason:
        advice = {
            "DeadlineExceeded": "Raise spec.activeDeadlineSeconds if the work needs longer.",
            "Evicted": "Give the node room, or the pod requests that match what it uses.",
        }.get(
            status.reason,
            "Create the pod anew once the cause is gone; a pod that has failed never runs again.",
        )
        text = f"The pod failed for good: {status.reason}: {(status.message or '').rstrip('.')}."
        return Explanation(area="end", reason=status.reason, text=text, advice=advice)
    for container in (*status.init_container_statuses, *status.container_statuses):
        ended = container.state.terminated
        if ended is not None and ended.exit_code != 0:
            return Explanation(
                area="end",
                reason=ended.reason or "Error",
                container=container.name,
                text=f"The pod failed for good: container {container.name} {how_it_ended(container)}, "
                f"and its restart policy is {pod.spec.restart_policy}.",
                advice=logs_command(pod, container.name),
            )
    return Explanation(
        area="end", reason="Failed", text="The pod failed for good.", advice="kubectl describe pod"
    )


def no_volumes(evidence: Evidence) -> Explanation | None:
    failed = evidence.last_event("FailedMount", "FailedAttachVolume")
    if failed is None or not any(_waits_to_be_made(status) for status in all_statuses(evidence.pod)):
        return None
    text = f"A volume is not there yet: {(failed.message or '').rstrip('.')}."
    return Explanation(
        area="volume",
        reason=failed.reason or "",
        text=text,
        advice="Create what the volume refers to; the pod then goes on.",
    )


def _waits_to_be_made(status: ContainerStatus) -> bool:
    waiting = status.state.waiting
    return waiting is not None and waiting.reason in ("ContainerCreating", "PodInitializing")


WAITING = {
    "ErrImagePull": (
        "image",
        "Check the image's name and tag, and imagePullSecrets; or load it: podling image load FILE",
    ),
    "ImagePullBackOff": (
        "image",
        "Check the image's name and tag, and imagePullSecrets; or load it: podling image load FILE",
    ),
    "ErrImageNeverPull": ("image", "imagePullPolicy is Never: load the image with: podling image load FILE"),
    "InvalidImageName": ("image", "Correct the image's name."),
    "ImageInspectError": ("image", "Remove the image and let it be pulled again: podling image remove NAME"),
    "CreateContainerConfigError": (
        "configuration",
        "Create what the container refers to, or correct the reference.",
    ),
    "CreateContainerError": ("runtime", "Look at the container's command, mounts and security context."),
    "RunContainerError": ("runtime", "Look at the container's command: is it in the image?"),
    "PostStartHookError": (
        "runtime",
        "The postStart hook failed; the container is killed and started again.",
    ),
}
"""Waiting reasons that are the trouble itself: the area, and what to do."""


def waiting(evidence: Evidence) -> Explanation | None:
    for status in all_statuses(evidence.pod):
        waiting = status.state.waiting
        if waiting is None or waiting.reason not in WAITING:
            continue
        area, advice = WAITING[waiting.reason]
        message = (waiting.message or "no more is known").rstrip(".")
        text = f"Container {status.name} cannot start: {waiting.reason}: {message}."
        return Explanation(area=area, reason=waiting.reason, container=status.name, text=text, advice=advice)
    return None


def crashing(evidence: Evidence) -> Explanation | None:
    for status in all_statuses(evidence.pod):
        waiting = status.state.waiting
        ended = status.state.terminated
        looping = waiting is not None and waiting.reason == "CrashLoopBackOff"
        if not looping and (ended is None or ended.exit_code == 0):
            continue
        times = f"{status.restart_count} time{'' if status.restart_count == 1 else 's'}"
        last = "and is started again after a pause" if looping else "and has not been started again"
        killed_for = evidence.last_event("Killing")
        why = ""
        if killed_for is not None and "failed liveness probe" in (killed_for.message or ""):
            unhealthy = evidence.last_event("Unhealthy")
            detail = f": {unhealthy.message}" if unhealthy is not None else ""
            why = f" It was killed because it failed its liveness probe{detail.rstrip('.')}."
        return Explanation(
            area="crash",
            reason="CrashLoopBackOff" if looping else (ended.reason if ended else "") or "Error",
            container=status.name,
            text=f"Container {status.name} keeps ending: it {how_it_ended(status)}, was restarted {times}, "
            f"{last}.{why}",
            advice=_crash_advice(evidence.pod, status),
        )
    return None


def _crash_advice(pod: Pod, status: ContainerStatus) -> str:
    ended = status.state.terminated or status.last_state.terminated
    if ended is not None and ended.reason == "OOMKilled":
        return "It used more memory than its limit: raise resources.limits.memory, or use less."
    if ended is not None and ended.exit_code in (126, 127):
        return "The command was not found or cannot be run in the image: correct command and args."
    return logs_command(pod, status.name, previous=True)


def initializing(evidence: Evidence) -> Explanation | None:
    pod = evidence.pod
    statuses = {status.name: status for status in pod.status.init_container_statuses}
    for position, container in enumerate(pod.spec.init_containers):
        status = statuses.get(container.name)
        if status is None or status.state.running is None or (is_sidecar(container) and status.started):
            continue
        since = time_since(status.state.running.started_at, evidence.now)
        what = "its startup probe to succeed" if is_sidecar(container) else "it to end"
        return Explanation(
            area="init",
            reason=f"Init:{position}/{len(pod.spec.init_containers)}",
            container=container.name,
            text=f"The pod is still being initialised: init container {container.name} has been running for "
            f"{since}, and the next one waits for {what}.",
            advice=logs_command(pod, container.name),
        )
    return None


def unready(evidence: Evidence) -> Explanation | None:
    pod = evidence.pod
    containers = {container.name: container for container in pod.spec.containers}
    for status in pod.status.container_statuses:
        container = containers.get(status.name)
        if container is None or status.ready or status.state.running is None:
            continue
        kind, probe = _probe_in_the_way(container, status)
        unhealthy = evidence.last_event("Unhealthy")
        said = (
            f" It last answered: {unhealthy.message}."
            if unhealthy is not None
            else " It has not answered yet."
        )
        return Explanation(
            area="probe",
            reason="ContainersNotReady",
            container=status.name,
            text=f"Container {status.name} runs, but its {kind} probe has not succeeded"
            f"{_probe_rhythm(probe)}.{said.replace('..', '.')}",
            advice=logs_command(pod, status.name),
        )
    return None


def _probe_in_the_way(container: Container, status: ContainerStatus) -> tuple[str, Probe | None]:
    if container.startup_probe is not None and not status.started:
        return "startup", container.startup_probe
    return "readiness", container.readiness_probe


def _probe_rhythm(probe: Probe | None) -> str:
    if probe is None:
        return ""
    delay = probe.initial_delay_seconds or 0
    first = f", first after {delay} s" if delay else ""
    return f" (asked every {probe.period_seconds or 10} s{first})"


def gated(evidence: Evidence) -> Explanation | None:
    ready = condition(evidence.pod, "Ready")
    if ready is None or ready.reason != "ReadinessGatesNotReady":
        return None
    text = f"Every container is ready, but a readiness gate is not open: {(ready.message or '').rstrip('.')}."
    advice = "Whoever owns the gate must set its condition to True in the pod's status."
    return Explanation(area="gate", reason="ReadinessGatesNotReady", text=text, advice=advice)
