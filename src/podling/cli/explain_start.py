"""Problems before the first container runs: sandbox, volumes, images, configuration. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podling.api.core_v1 import ContainerStatus, Pod
from podling.cli.evidence import (
    Evidence,
    Explanation,
    Source,
    all_statuses,
    condition_source,
    container_named,
    container_source,
    event_source,
    one_line,
    pod_arguments,
)
from podling.machinery.pods import condition

LOAD = "podling image load FILE"

IMAGE_ADVICE = (
    (
        r"unauthorized|authentication required|denied|no basic auth|401|403",
        "The registry does not let the pod in: check the credentials in imagePullSecrets.",
    ),
    (
        r"no such host|connection refused|i/o timeout|no route|pinging container registry|TLS|x509",
        "The registry cannot be reached from this machine: check the name before the first slash, or "
        f"load the image: {LOAD}",
    ),
    (r"is built for|no image found .*for architecture|platform", "Use an image that is built for this node."),
    (
        r"manifest unknown|not found|repository name not known|404",
        f"The registry has no such image: check its name and tag, or load it: {LOAD}",
    ),
    (r"no space left", "Make room on the node's disk."),
    (r"signature|policy", "The machine's image policy (/etc/containers/policy.json) refuses it."),
)
"""Causes of failed pulls, by messages of the registry or of its client."""

MISSING = (
    (
        r'configmap "(?P<name>[^"]+)" not found',
        "Create it: kubectl create configmap {name} -n {namespace} --from-literal=KEY=VALUE",
    ),
    (
        r'secret "(?P<name>[^"]+)" not found',
        "Create it: kubectl create secret generic {name} -n {namespace} --from-literal=KEY=VALUE",
    ),
    (
        r'persistentvolumeclaims? "(?P<name>[^"]+)" not found',
        "Create the claim {name} in namespace {namespace}, or correct claimName.",
    ),
    (
        r"couldn't find key (?P<key>\S+) in ConfigMap (?P<name>\S+)",
        "Add the key {key}, or correct the reference: kubectl edit configmap -n {namespace}",
    ),
    (
        r"couldn't find key (?P<key>\S+) in Secret (?P<name>\S+)",
        "Add the key {key}, or correct the reference: kubectl edit secret -n {namespace}",
    ),
    (
        r"non-existent (?:config|secret) key",
        "Add the key to the object, or leave it out of the volume's items.",
    ),
    (
        r"runAsNonRoot",
        "Set securityContext.runAsUser to a user other than 0, or use an image whose USER is such a number.",
    ),
    (
        r"hostPath type check failed",
        "Make the path on the node what the volume's type says, or correct path and type.",
    ),
    (r"subPath", "Correct the mount's subPath: it must lie inside the volume."),
    (
        r"not supported|no volume plugin",
        "Podling has no volumes of this kind: use another, as docs/critiques.md says.",
    ),
)
"""Missing configuration and volumes, by Kubernetes' own messages, and the advice."""

WAITING = {
    "ErrImagePull": "image",
    "ImagePullBackOff": "image",
    "ErrImageNeverPull": "image",
    "InvalidImageName": "image",
    "ImageInspectError": "image",
    "RegistryUnavailable": "image",
    "SignatureValidationFailed": "image",
    "CreateContainerConfigError": "configuration",
    "CreateContainerError": "runtime",
    "RunContainerError": "runtime",
    "PostStartHookError": "hook",
}
"""Waiting reasons that are the problem itself, and its place."""


def no_sandbox(evidence: Evidence) -> Explanation | None:
    started = condition(evidence.pod, "PodReadyToStartContainers")
    failed = evidence.last_event("FailedCreatePodSandBox", "NetworkNotReady")
    if failed is None or (started is not None and started.status == "True"):
        return None
    return Explanation(
        area="sandbox",
        reason=failed.reason or "",
        text=f"The node cannot make the pod's sandbox: {one_line(failed.message)}.",
        advice="See what the machine lacks: podling doctor",
        evidence=(event_source(failed), *condition_source(evidence.pod, "PodReadyToStartContainers")),
    )


def no_volumes(evidence: Evidence) -> Explanation | None:
    failed = evidence.last_event("FailedMount", "FailedAttachVolume")
    held = [status for status in all_statuses(evidence.pod) if _waits_to_be_made(status)]
    if (
        failed is None
        or not held
        or any(s.state.running or s.last_state.terminated for s in all_statuses(evidence.pod))
    ):
        return None
    message = one_line(failed.message)
    return Explanation(
        area="volume",
        reason=failed.reason or "",
        text=f"No container can start before the pod's volumes are there, and one is not: {message}.",
        advice=missing_advice(evidence.pod, message)
        or f"Create what the volume refers to; the pod then goes on by itself: kubectl describe pod "
        f"{pod_arguments(evidence.pod)}",
        evidence=(event_source(failed), container_source(held[0])),
    )


def _waits_to_be_made(status: ContainerStatus) -> bool:
    waiting = status.state.waiting
    return waiting is not None and waiting.reason in ("ContainerCreating", "PodInitializing")


def missing_advice(pod: Pod, message: str) -> str:
    """Return the advice for a message of ``MISSING``; empty for others."""
    for pattern, advice in MISSING:
        match = re.search(pattern, message)
        if match is not None:
            return advice.format(namespace=pod.metadata.namespace, **match.groupdict())
    return ""


def waiting(evidence: Evidence) -> Iterator[Explanation]:
    """Containers that cannot be started."""
    for status in all_statuses(evidence.pod):
        waiting = status.state.waiting
        if waiting is None or waiting.reason not in WAITING:
            continue
        area, reason = WAITING[waiting.reason], waiting.reason
        message = one_line(waiting.message) or "no more is known"
        text = f"Container {status.name} cannot start: {reason}: {message}."
        advice = missing_advice(evidence.pod, message)
        sources: tuple[Source, ...] = (container_source(status),)
        if area == "image":
            text = _image_text(evidence.pod, status, reason, message)
            advice = _image_advice(reason, message)
            event = evidence.last_event("Failed", container=status.name)
            sources += (event_source(event),) if event is not None else ()
        if area == "hook":
            text = f"Container {status.name} was killed again, because its postStart hook failed: {message}."
            advice = "Correct the hook's command; it runs inside the container."
        yield Explanation(
            area=area,
            reason=reason,
            container=status.name,
            text=text,
            advice=advice or "Look at the container's command, mounts and security context.",
            evidence=sources,
        )


def _image_text(pod: Pod, status: ContainerStatus, reason: str, message: str) -> str:
    container = container_named(pod, status.name)
    image = container.image if container is not None else status.image
    said = message.rpartition("ErrImagePull: ")[2]
    again = ", and the node waits longer after each try" if reason == "ImagePullBackOff" else ""
    return f"Container {status.name} has no image: {image} cannot be had ({reason}){again}: {said}."


def _image_advice(reason: str, message: str) -> str:
    if reason == "InvalidImageName":
        return "Correct the image's name: lower-case words, then a tag, such as docker.io/library/nginx:1."
    if reason == "ErrImageNeverPull":
        return f"imagePullPolicy is Never, so load it: {LOAD} (or set the policy to IfNotPresent)"
    if reason == "ImageInspectError":
        return "Remove the image and let it be pulled again: podling image remove NAME"
    found = (advice for pattern, advice in IMAGE_ADVICE if re.search(pattern, message, re.IGNORECASE))
    return next(found, f"Check the image's name and tag, and imagePullSecrets; or load it: {LOAD}")


def starting(evidence: Evidence) -> Iterator[Explanation]:
    """Return containers that are starting, by their events: pulling, or in their postStart hook."""
    for status in all_statuses(evidence.pod):
        if not _waits_to_be_made(status):
            continue
        container = container_named(evidence.pod, status.name)
        newest = evidence.last_event(
            "Pulling", "Pulled", "Failed", "Created", "Started", container=status.name
        )
        if container is None or newest is None:
            continue
        source = event_source(newest)
        if newest.reason == "Pulling":
            text = (
                f"Container {status.name} waits for its image {container.image}, which has been pulled for "
            )
            text += f"{evidence.ago(source.last)}."
            advice = "Wait, or see whether the registry is slow."
        elif (
            newest.reason == "Started" and container.lifecycle is not None and container.lifecycle.post_start
        ):
            text = f"Container {status.name} was started {evidence.ago(source.last)} ago and is in its "
            text += "postStart hook, which has to end before the container counts as running."
            advice = "If it does not end, correct lifecycle.postStart: a hook has no time limit of its own."
        else:
            continue
        area = "hook" if newest.reason == "Started" else "image"
        reason = status.state.waiting.reason if status.state.waiting is not None else ""
        yield Explanation(
            area=area,
            reason=reason or "ContainerCreating",
            container=status.name,
            text=text,
            advice=advice,
            evidence=(source, container_source(status)),
        )


def not_begun(evidence: Evidence) -> Explanation | None:
    """The pod has a node, and the node has not got further."""
    pod = evidence.pod
    statuses = list(all_statuses(pod))
    if statuses and not any(_waits_to_be_made(status) for status in statuses):
        return None
    node = pod.spec.node_name
    text = (
        f"Node {node} is making the pod ready: sandbox, volumes and images come before the first container."
    )
    if not statuses:
        text = f"The pod was given to node {node}, whose kubelet has not taken it up yet."
    return Explanation(
        area="start",
        reason="ContainerCreating" if statuses else "Pending",
        text=text,
        advice=f"It may need a moment; follow it: kubectl get pod {pod_arguments(pod)} --watch",
        evidence=(Source(kind="status", name="status.phase", detail=pod.status.phase or ""),),
    )
