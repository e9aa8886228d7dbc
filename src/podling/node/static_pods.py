"""Defaults and validation of static pods, which no API server sees before they run."""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.metadata import check_new
from podling.apiserver.kinds.pod.pod_defaults import default_pod
from podling.apiserver.kinds.pod.pod_validation import validate_pod_create
from podling.apiserver.kinds.pod.pods import PodRules


def complete_static_pod(pod: Pod) -> Pod:
    """Return ``pod`` with the API's defaults. Raises ``ValueError`` for a pod that the API would refuse."""
    complete = default_pod(pod)
    errors = check_new(
        complete.metadata, namespaced=True, name_errors=PodRules().name_errors, bare_finalizers=False
    )
    errors += validate_pod_create(complete)
    if errors:
        raise ValueError(", ".join(str(error) for error in errors))
    return complete
