"""What the kubelet says it is."""

from __future__ import annotations

KUBERNETES_VERSION = "v1.36.2"
"""The Kubernetes release whose behaviour the kubelet has."""

USER_AGENT_VERSION = "1.36"
"""Major and minor, as probes and hooks present themselves."""
