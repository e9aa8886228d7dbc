"""The kubelet's version numbers."""

from __future__ import annotations

KUBERNETES_VERSION = "v1.36.2"
"""The Kubernetes release whose behaviour the kubelet implements."""

USER_AGENT_VERSION = "1.36"
"""Major and minor in the user agent of probes and hooks."""
