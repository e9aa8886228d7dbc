"""Grace periods of containers, from the runtime's own records.

The kubelet writes the pod's grace period into each container's annotations, as Kubernetes' does
(``pkg/kubelet/kuberuntime/labels.go``), so that containers can be ended in time without the API server.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.machinery.numbers import is_number

POD_TERMINATION_GRACE = "io.kubernetes.pod.terminationGracePeriod"
"""Annotation of a container: its pod's ``terminationGracePeriodSeconds``."""
MINIMUM_GRACE_SECONDS = 2
"""The least time between a container's stop signal and SIGKILL, even when it is late."""


def own_grace(annotations: Mapping[str, str], at_most: float) -> float:
    """Return the seconds to wait for a container after its stop signal.

    That is the pod's grace period, at least two seconds like everywhere, and never more than ``at_most``.
    Containers of an older kubelet do not name one and get ``at_most``.
    """
    text = annotations.get(POD_TERMINATION_GRACE, "")
    if not is_number(text):
        return at_most
    return min(at_most, max(int(text), MINIMUM_GRACE_SECONDS))
