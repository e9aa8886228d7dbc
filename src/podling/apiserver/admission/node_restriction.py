"""NodeRestriction: a kubelet may change its own node, its own pods and its own lease, and nothing of others'.

What ``system:node`` allows is meant for every node at once; this plugin narrows it to the one whose
certificate made the request. Source: ``plugin/pkg/admission/noderestriction``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Pod
from podling.apiserver.admission.base import Objects, Operation, Plugin, Request
from podling.machinery.certificates import pem_of, wanted
from podling.machinery.pods import is_mirror
from podling.machinery.scheme import Resource

GROUP = "system:nodes"
PREFIX = "system:node:"
LEASE_NAMESPACE = "kube-node-lease"
RESOURCES = frozenset({
    ("", "nodes"),
    ("", "pods"),
    ("", "serviceaccounts"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("coordination.k8s.io", "leases"),
})  # fmt: skip
NODE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
MIRROR = "kubernetes.io/config.mirror"


class NodeRestriction(Plugin):
    name = "NodeRestriction"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return (resource.group, resource.plural) in RESOURCES and operation is not Operation.CONNECT

    async def validate(self, request: Request, objects: Objects) -> None:
        user = request.user
        if GROUP not in user.groups or not user.name.startswith(PREFIX):
            return
        node = user.name.removeprefix(PREFIX)
        plural = request.resource.plural
        if plural == "nodes":
            _check_node(request, node)
        elif plural == "leases":
            _check_lease(request, node)
        elif plural == "serviceaccounts":
            _check_token(request, node, objects)
        elif plural == "certificatesigningrequests":
            _check_certificate(request, node)
        else:
            _check_pod(request, node, objects)


def _check_node(request: Request, node: str) -> None:
    if request.name != node:
        raise request.forbidden(f'node "{node}" is not allowed to modify node "{request.name}"')
    if request.operation is Operation.DELETE:
        raise request.forbidden(f'node "{node}" is not allowed to delete itself')
    if request.operation is not Operation.UPDATE or request.subresource:
        return
    if request.object.spec.taints != request.old.spec.taints:
        raise request.forbidden(f'node "{node}" is not allowed to modify taints')
    if request.object.metadata.owner_references != request.old.metadata.owner_references:
        raise request.forbidden(f'node "{node}" is not allowed to modify its own ownerReferences')


def _check_lease(request: Request, node: str) -> None:
    if request.namespace != LEASE_NAMESPACE:
        raise request.forbidden(
            f'can only access leases in the "{LEASE_NAMESPACE}" system namespace, not "{request.namespace}"'
        )
    if request.name != node:
        raise request.forbidden("can only access node lease with the same name as the requesting node")


def _check_certificate(request: Request, node: str) -> None:
    """A kubelet asks for certificates of its own name; the rest of the request is the signer's to check."""
    if request.operation is not Operation.CREATE or request.object.spec.signer_name not in NODE_SIGNERS:
        return
    try:
        name = wanted(pem_of(request.object.spec.request)).common_name
    except ValueError as error:
        raise request.forbidden(f"unable to parse csr: {error}") from error
    if name != f"{PREFIX}{node}":
        raise request.forbidden(f"can only create a node CSR with CN={PREFIX}{node}")


def _check_token(request: Request, node: str, objects: Objects) -> None:
    """A kubelet gets tokens for the pods it runs."""
    if request.subresource != "token":
        return
    ref = request.object.spec.bound_object_ref
    if ref is None or ref.kind != "Pod" or not ref.name:
        raise request.forbidden("node requested token not bound to a pod")
    if not ref.uid:
        raise request.forbidden("node requested token with a pod binding without a uid")
    pod = objects.get(Pod, ref.name, request.namespace)
    if pod is None or pod.metadata.uid != ref.uid:
        raise request.forbidden(f"the UID in the bound object reference ({ref.uid}) does not match the pod")
    if pod.spec.node_name != node:
        raise request.forbidden("node requested token bound to a pod scheduled on a different node")


def _check_pod(request: Request, node: str, objects: Objects) -> None:
    if request.subresource == "status":
        _own(
            request, request.old, node, "can only update pod status for pods with spec.nodeName set to itself"
        )
    elif request.subresource == "eviction":
        pod = objects.get(Pod, request.name, request.namespace)
        if pod is not None:
            _own(request, pod, node, "can only evict pods with spec.nodeName set to itself")
    elif request.operation is Operation.DELETE:
        _own(request, request.old, node, "can only delete pods with spec.nodeName set to itself")
    elif request.operation is Operation.CREATE and not request.subresource:
        _check_mirror(request, request.object, node)


def _own(request: Request, pod: Any, node: str, rule: str) -> None:
    if pod.spec.node_name != node:
        raise request.forbidden(f'node "{node}" {rule}')


def _check_mirror(request: Request, pod: Any, node: str) -> None:
    """A kubelet creates mirrors of its static pods, which may lean on nothing in the API."""
    if not is_mirror(pod):
        why = f'pod does not have "{MIRROR}" annotation, node "{node}" can only create mirror pods'
        raise request.forbidden(why)
    _own(request, pod, node, "can only create pods with spec.nodeName set to itself")
    owners = pod.metadata.owner_references
    if len(owners) > 1:
        why = f'node "{node}" can only create pods with a single owner reference set to itself'
        raise request.forbidden(why)
    if owners and (owners[0].kind, owners[0].name) != ("Node", node):
        raise request.forbidden(f'node "{node}" can only create pods with an owner reference set to itself')
