"""Authentication and authorization of the kubelet's server: users, attributes and texts. Pure.

The kubelet serves every pod's logs and runs commands in every container. The API server's own certificate and
those of administrators (``system:masters``) are admitted here; ``server_access`` has the API server review
all others. The node's own certificate may use its images: ``podling image`` has no other one on a machine
that has joined. Texts and attributes are those of ``pkg/kubelet/server/server.go`` and ``auth.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
API_SERVER = "kube-apiserver-kubelet-client"
SUBRESOURCES = (
    ("/stats/", "stats"),
    ("/metrics", "metrics"),
    ("/logs/", "log"),
    ("/spec/", "spec"),
    ("/statusz", "statusz"),
    ("/flagz", "configz"),
)
FINE_GRAINED = (
    ("/pods", "pods"),
    ("/runningpods/", "pods"),
    ("/healthz", "healthz"),
    ("/configz", "configz"),
)
VERBS = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
BEARER = "bearer "


class Peer(Struct, frozen=True):
    """An authenticated client: its user and groups."""

    name: str
    groups: tuple[str, ...]
    uid: str = ""


ANONYMOUS = Peer("system:anonymous", ("system:unauthenticated",))


class Attributes(Struct, frozen=True):
    """The access that a request needs: this verb on any of these subresources of the node."""

    verb: str
    subresources: tuple[str, ...]


def peer_of(certificate: Mapping[str, Any] | None) -> Peer | None:
    """Return the holder of a verified certificate, given as ``ssl.SSLSocket.getpeercert`` returns it."""
    if not certificate:
        return None
    attributes = [pair for group in certificate.get("subject", ()) for pair in group]
    names = [value for key, value in attributes if key == "commonName"]
    groups = tuple(value for key, value in attributes if key == "organizationName")
    return Peer(names[-1], groups) if names else None


def token_of(authorization: str) -> str:
    """Return the bearer token of an ``Authorization`` header; empty without one."""
    return authorization[len(BEARER) :].strip() if authorization[: len(BEARER)].lower() == BEARER else ""


def is_trusted(peer: Peer, path: str, own: str = "") -> bool:
    """Return whether a client is admitted without a review.

    Args:
        own: the user of the node itself, whose certificate is on this machine: it may use the images.
    """
    if MASTERS in peer.groups or peer.name == API_SERVER:
        return True
    return bool(own) and peer.name == own and (path == "/images" or path.startswith("/images/"))


def attributes_of(method: str, path: str) -> Attributes:
    """Return the access that a request needs (``GetRequestAttributes``)."""
    return Attributes(VERBS.get(method, ""), subresources(path))


def forbidden_text(peer: Peer, needed: Attributes) -> str:
    names = " ".join(needed.subresources)
    return f"Forbidden (user={peer.name}, verb={needed.verb}, resource=nodes, subresource(s)=[{names}])\n"


def review_failure_text(peer: Peer, needed: Attributes) -> str:
    names = " ".join(needed.subresources)
    return (
        f"Authorization error (user={peer.name}, verb={needed.verb}, resource=nodes, "
        f"subresource(s)=[{names}])\n"
    )


def subresources(path: str) -> tuple[str, ...]:
    """Return the subresources of ``nodes`` for a path; access to any of them is sufficient."""
    for prefix, name in SUBRESOURCES:
        if path.startswith(prefix):
            return (name,)
    for prefix, name in FINE_GRAINED:
        if path.rstrip("/") == prefix.rstrip("/"):
            return (name, "proxy")
    return ("proxy",)
