"""Authorisation of kubelets. Of objects that belong to pods, a node may read only those of its own pods.

Names, order and texts are those of ``plugin/pkg/auth/authorizer/node``. The admission plugin
``NodeRestriction`` limits a node's writes further.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from podling.api.rbac_v1 import PolicyRule
from podling.apiserver.auth.rbac import Attributes, rule_allows
from podling.client.requests import User

GROUP = "system:nodes"
PREFIX = "system:node:"
LEASES = "kube-node-lease"
Refusal = str | None
"""None: it is allowed. Otherwise why not, which may be empty."""

READS = ("get", "list", "watch")
OWN_VERBS = ("get", "create", "update", "patch", "delete")


class References(Protocol):
    """Index of the objects that the pods of each node refer to."""

    def has(self, node: str, resource: str, namespace: str, name: str) -> bool: ...


def node_of(user: User) -> str:
    """Return the name of the node whose kubelet ``user`` is; empty for all other users."""
    return user.name.removeprefix(PREFIX) if GROUP in user.groups and user.name.startswith(PREFIX) else ""


class NodeAuthorizer:
    """Authorises the requests of kubelets.

    Args:
        rules: the rights of every node, for resources that do not depend on the node.
    """

    def __init__(self, references: References, rules: tuple[PolicyRule, ...]) -> None:
        self._references, self._rules = references, rules
        self._special: Mapping[tuple[str, str], Callable[[str, Attributes], Refusal]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("", "serviceaccounts"): self._token,
            ("", "pods"): self._pod,
            ("", "nodes"): _node,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
        }

    def refused(self, node: str, attributes: Attributes) -> Refusal:
        """Return the reason for a refusal, which may be empty; None if the request is allowed."""
        special = self._special.get((attributes.group, attributes.resource))
        if special is not None and not attributes.path:
            return special(node, attributes)
        return None if any(rule_allows(rule, attributes) for rule in self._rules) else ""

    def _related(self, node: str, attributes: Attributes) -> Refusal:
        if not attributes.name:
            return "No Object name found"
        if self._references.has(node, attributes.resource, attributes.namespace, attributes.name):
            return None
        return f"no relationship found between node '{node}' and this object"

    def _read(self, node: str, attributes: Attributes) -> Refusal:
        if attributes.verb not in READS:
            return "can only read resources of this type"
        if attributes.subresource:
            return "cannot read subresource"
        if not attributes.namespace:
            return "can only read namespaced object of this type"
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Refusal:
        if attributes.verb != "get":
            return "can only get individual resources of this type"
        return "cannot get subresource" if attributes.subresource else self._related(node, attributes)

    def _claim(self, node: str, attributes: Attributes) -> Refusal:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return "can only get/update/patch this type"
        return self._related(node, attributes)

    def _token(self, node: str, attributes: Attributes) -> Refusal:
        if attributes.verb != "create" or not attributes.name:
            return "can only create tokens for individual service accounts"
        if attributes.subresource != "token":
            return "can only create token subresource of serviceaccount"
        return self._related(node, attributes)

    def _pod(self, node: str, attributes: Attributes) -> Refusal:
        what = (attributes.subresource, attributes.verb)
        if what in (("", "create"), ("", "delete"), ("status", "update"), ("status", "patch")):
            return None
        if what == ("eviction", "create"):
            return None
        if attributes.subresource or attributes.verb not in READS:
            return ""
        if attributes.verb != "get" and attributes.on_node == node:
            return None
        if attributes.verb == "get" or attributes.name:
            return self._related(node, attributes)
        return "can only list/watch pods with spec.nodeName field selector"


def _node(node: str, attributes: Attributes) -> Refusal:
    writes = ("update", "patch") if attributes.subresource == "status" else ("create", "update", "patch")
    if attributes.subresource in ("", "status") and attributes.verb in writes:
        return None
    if attributes.subresource or attributes.verb not in READS:
        return ""
    if attributes.name == node:
        return None
    if not attributes.name:
        return f"node '{node}' cannot read all nodes, only its own Node object"
    return f"node '{node}' cannot read '{attributes.name}', only its own Node object"


def _lease(node: str, attributes: Attributes) -> Refusal:
    if attributes.verb not in OWN_VERBS:
        return "can only get, create, update, patch, or delete a node lease"
    if attributes.namespace != LEASES:
        return f'can only access leases in the "{LEASES}" system namespace'
    if attributes.verb != "create" and attributes.name != node:
        return "can only access node lease with the same name as the requesting node"
    return None


def _csi_node(node: str, attributes: Attributes) -> Refusal:
    if attributes.verb not in OWN_VERBS:
        return "can only get, create, update, patch, or delete a CSINode"
    if attributes.subresource:
        return "cannot authorize CSINode subresources"
    if attributes.verb != "create" and attributes.name != node:
        return "can only access CSINode with the same name as the requesting node"
    return None
