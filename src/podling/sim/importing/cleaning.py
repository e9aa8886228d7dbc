"""Objects as their authors would write them: without what servers and controllers added. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Plain = dict[str, Any]

SERVER_FIELDS = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "ownerReferences",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "finalizers",
)
SERVER_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "batch.kubernetes.io/job-tracking",
    "cronjob.kubernetes.io/instantiate",
)
JOB_LABELS = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)
SERVICE_FIELDS = ("clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy")
TOKEN_VOLUME = "kube-api-access-"
SECRET_KINDS = ("Secret", "ConfigMap")


def cleaned(found: Plain) -> Plain:
    """Return an object to apply in another cluster. Values of Secrets and ConfigMaps are emptied."""
    plain = copy.deepcopy(found)
    plain.pop("status", None)
    _clean_metadata(plain)
    kind = plain["kind"]
    spec = plain.get("spec") or {}
    if kind in SECRET_KINDS:
        for field in ("data", "stringData", "binaryData"):
            plain.update({field: dict.fromkeys(plain[field], "")} if plain.get(field) else {})
    elif kind == "Service":
        if spec.get("clusterIP") != "None":
            for field in SERVICE_FIELDS:
                spec.pop(field, None)
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    elif kind == "Job":
        _clean_job(spec)
    for pod in pod_specs(plain):
        _clean_pod(pod)
    if kind == "StatefulSet":
        _claims_to_empty_folders(spec)
    return plain


def pod_specs(plain: Plain) -> Iterator[Plain]:
    """Yield the pod specs in an object: its own, or those of its templates."""
    spec = plain.get("spec") or {}
    if plain.get("kind") == "Pod":
        yield spec
    for place in (spec, (spec.get("jobTemplate") or {}).get("spec") or {}):
        template = place.get("template")
        if isinstance(template, dict) and isinstance(template.get("spec"), dict):
            yield template["spec"]


def template_of(plain: Plain) -> Plain:
    """Return the pod template of a workload, or the pod itself."""
    spec = plain.get("spec") or {}
    inner = (spec.get("jobTemplate") or {}).get("spec") or spec
    found = plain if plain.get("kind") == "Pod" else inner.get("template") or {}
    return found if isinstance(found, dict) else {}


def _clean_metadata(plain: Plain) -> None:
    metadata = plain.setdefault("metadata", {})
    for field in SERVER_FIELDS:
        metadata.pop(field, None)
    annotations = metadata.get("annotations") or {}
    for name in SERVER_ANNOTATIONS:
        annotations.pop(name, None)
    if not annotations:
        metadata.pop("annotations", None)
    template = template_of(plain)
    if template is not plain and isinstance(template.get("metadata"), dict):
        template["metadata"].pop("creationTimestamp", None)


def _clean_job(spec: Plain) -> None:
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        for name in JOB_LABELS:
            labels.pop(name, None)


def _clean_pod(spec: Plain) -> None:
    """Take from a pod where it ran, the token it was given, and disks that the other cluster has not."""
    spec.pop("nodeName", None)
    tokens = [
        each["name"] for each in spec.get("volumes") or () if str(each.get("name")).startswith(TOKEN_VOLUME)
    ]
    if tokens:
        spec["volumes"] = [each for each in spec["volumes"] if each["name"] not in tokens]
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            mounts = container.get("volumeMounts") or ()
            container["volumeMounts"] = [each for each in mounts if each.get("name") not in tokens]
    for volume in spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume or "ephemeral" in volume:
            name = volume["name"]
            volume.clear()
            volume.update({"name": name, "emptyDir": {}})


def _claims_to_empty_folders(spec: Plain) -> None:
    claims = spec.pop("volumeClaimTemplates", None) or ()
    pod = ((spec.get("template") or {}).get("spec")) or {}
    added = [{"name": each["metadata"]["name"], "emptyDir": {}} for each in claims]
    if added:
        pod["volumes"] = [*(pod.get("volumes") or ()), *added]
