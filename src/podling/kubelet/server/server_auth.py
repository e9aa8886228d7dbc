"""Authentication and authorization of the kubelet's server. Pure.

The kubelet serves every pod's logs and runs commands in every container. It therefore admits only client
certificates of the cluster's authority with the group ``system:masters``: the API server's own, and those of
administrators. The node's own certificate may use its images: ``podling image`` has no other one on a machine
that has joined. Texts and attributes are those of ``pkg/kubelet/server/server.go`` and ``auth.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

MASTERS = "system:masters"
API_SERVER = "kube-apiserver-kubelet-client"
SUBRESOURCES = (("/stats/", "stats"), ("/metrics", "metrics"), ("/logs/", "log"), ("/spec/", "spec"))
FINE_GRAINED = (
    ("/pods", "pods"),
    ("/runningpods/", "pods"),
    ("/healthz", "healthz"),
    ("/configz", "configz"),
)
VERBS = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Peer(Struct, frozen=True):
    """The user and groups of a client certificate."""

    name: str
    groups: tuple[str, ...]


def peer_of(certificate: Mapping[str, Any] | None) -> Peer | None:
    """Return the holder of a verified certificate, given as ``ssl.SSLSocket.getpeercert`` returns it."""
    if not certificate:
        return None
    attributes = [pair for group in certificate.get("subject", ()) for pair in group]
    names = [value for key, value in attributes if key == "commonName"]
    groups = tuple(value for key, value in attributes if key == "organizationName")
    return Peer(names[-1], groups) if names else None


def refusal(peer: Peer | None, method: str, path: str, own: str = "") -> tuple[int, str] | None:
    """Return code and text of the response to an unauthorized client; None for an authorized one.

    Args:
        own: the user of the node itself, whose certificate is on this machine: it may use the images.
    """
    if peer is None:
        return 401, "Unauthorized"
    if MASTERS in peer.groups or peer.name == API_SERVER:
        return None
    if own and peer.name == own and (path == "/images" or path.startswith("/images/")):
        return None
    verb = VERBS.get(method, "")
    asked = " ".join(subresources(path))
    return 403, f"Forbidden (user={peer.name}, verb={verb}, resource=nodes, subresource(s)=[{asked}])\n"


def subresources(path: str) -> tuple[str, ...]:
    """Return the subresources of ``nodes`` for a path; access to any of them is sufficient."""
    for prefix, name in SUBRESOURCES:
        if path.startswith(prefix):
            return (name,)
    for prefix, name in FINE_GRAINED:
        if path.rstrip("/") == prefix.rstrip("/"):
            return (name, "proxy")
    return ("proxy",)
