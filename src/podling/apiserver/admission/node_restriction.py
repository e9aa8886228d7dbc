"""NodeRestriction: a kubelet may change its own node, its own pods and its own lease, and nothing of others'.

What ``system:node`` allows is meant for every node at once; this plugin narrows it to the one whose
certificate made the request. Source: ``plugin/pkg/admission/noderestriction``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.apiserver.admission.node_pods import check_pod
from podling.apiserver.kinds.common.differences import describe
from podling.apiserver.kinds.common.filling import change
from podling.machinery.certificate_requests import pem_of, wanted
from podling.machinery.errors import not_found
from podling.machinery.kubelet_labels import is_foreign, is_within
from podling.machinery.scheme import Resource

GROUP = "system:nodes"
PREFIX = "system:node:"
LEASE_NAMESPACE = "kube-node-lease"
NODE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")

RESTRICTED_DOMAIN = "node-restriction.kubernetes.io"


class NodeRestriction(Plugin):
    name = "NodeRestriction"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        return (resource.group, resource.plural) in CHECKS and operation is not Operation.CONNECT

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        user = request.user
        if GROUP not in user.groups or not user.name.startswith(PREFIX):
            return
        node = user.name.removeprefix(PREFIX)
        if not node:
            raise request.forbidden(f'could not determine node from user "{user.name}"')
        CHECKS[request.resource.group, request.resource.plural](request, node, objects)


def _check_node(request: AdmissionRequest, node: str, objects: Objects) -> None:
    if request.name != node:
        raise request.forbidden(f'node "{node}" is not allowed to modify node "{request.name}"')
    if request.operation is Operation.CREATE:
        _check_new_node(request, node)
    elif request.operation is Operation.UPDATE:
        _check_node_update(request, node)


def _check_new_node(request: AdmissionRequest, node: str) -> None:
    if request.object.spec.config_source is not None:
        raise request.forbidden(f'node "{node}" is not allowed to create pods with a non-nil configSource')
    labels = _not_its_own(request.object.metadata.labels, {})
    if labels:
        why = f'node "{node}" is not allowed to set the following labels: {", ".join(labels)}'
        raise request.forbidden(why)


def _check_node_update(request: AdmissionRequest, node: str) -> None:
    new, old = request.object, request.old
    if new.spec.config_source not in (None, old.spec.config_source):
        why = f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
        raise request.forbidden(why)
    if new.spec.taints != old.spec.taints:
        raise request.forbidden(f'node "{node}" is not allowed to modify taints')
    if new.metadata.owner_references != old.metadata.owner_references:
        raise request.forbidden(f'node "{node}" is not allowed to modify ownerReferences')
    labels = _not_its_own(new.metadata.labels, old.metadata.labels)
    if labels:
        raise request.forbidden(f"is not allowed to modify labels: {', '.join(labels)}")


def _not_its_own(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Labels that differ though a kubelet must leave them alone: they steer pods to nodes."""
    return [
        key for key in sorted(new.keys() | old.keys()) if new.get(key) != old.get(key) and _forbidden(key)
    ]


def _forbidden(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    return bool(slash) and (is_within(domain, (RESTRICTED_DOMAIN,)) or is_foreign(label))


def _check_claim(request: AdmissionRequest, node: str, objects: Objects) -> None:
    """A kubelet says how large a volume has become, and nothing else."""
    if request.subresource != "status":
        raise request.forbidden("may only update PVC status")
    if request.operation is not Operation.UPDATE:
        raise request.forbidden(f'unexpected operation "{request.operation}"')
    old, new = _without_sizes(request.old), _without_sizes(request.object)
    if old != new:
        raise request.forbidden(
            f'node "{node}" is not allowed to update fields other than status.quantity and '
            f"status.conditions: {describe(old, new)}"
        )


def _without_sizes(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    sizes: Mapping[str, Any] = {"capacity": {}, "allocated_resources": {}, "allocated_resource_statuses": {}}
    metadata = change(claim.metadata, resource_version="", managed_fields=())
    return change(claim, metadata=metadata, status=change(claim.status, conditions=(), **sizes))


def _check_lease(request: AdmissionRequest, node: str, objects: Objects) -> None:
    if request.namespace != LEASE_NAMESPACE:
        raise request.forbidden(f'can only access leases in the "{LEASE_NAMESPACE}" system namespace')
    if request.name != node:
        raise request.forbidden("can only access node lease with the same name as the requesting node")


def _check_csi_node(request: AdmissionRequest, node: str, objects: Objects) -> None:
    if request.name != node:
        raise request.forbidden("can only access CSINode with the same name as the requesting node")


def _check_slice(request: AdmissionRequest, node: str, objects: Objects) -> None:
    """Updates are the authorizer's to check."""
    if request.operation is Operation.UPDATE:
        return
    devices, verb = (request.object, "create") if request.object is not None else (request.old, "delete")
    if devices.spec.node_name != node:
        why = f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
        raise request.forbidden(why)


def _check_certificate(request: AdmissionRequest, node: str, objects: Objects) -> None:
    """Check that a kubelet requests a certificate of its own name; the signer checks the rest."""
    if request.operation is not Operation.CREATE or request.object.spec.signer_name not in NODE_SIGNERS:
        return
    try:
        name = wanted(pem_of(request.object.spec.request)).common_name
    except ValueError as error:
        raise request.forbidden(f"unable to parse csr: {error}") from error
    if name != f"{PREFIX}{node}":
        raise request.forbidden(f"can only create a node CSR with CN={PREFIX}{node}")


def _check_token(request: AdmissionRequest, node: str, objects: Objects) -> None:
    """A kubelet gets tokens for the pods it runs."""
    if request.subresource != "token":
        return
    ref = request.object.spec.bound_object_ref
    if ref is None or ref.api_version != "v1" or ref.kind != "Pod" or not ref.name:
        raise request.forbidden("node requested token not bound to a pod")
    if not ref.uid:
        raise request.forbidden("node requested token with a pod binding without a uid")
    pod = objects.get(Pod, ref.name, request.namespace)
    if pod is None:
        raise not_found("pods", "", ref.name)
    if pod.metadata.uid != ref.uid:
        raise request.forbidden(
            f"the UID in the bound object reference ({ref.uid}) does not match the UID in record. The object "
            "might have been deleted and then recreated"
        )
    if pod.spec.node_name != node:
        raise request.forbidden("node requested token bound to a pod scheduled on a different node")


CHECKS: Mapping[tuple[str, str], Callable[[AdmissionRequest, str, Objects], None]] = {
    ("", "nodes"): _check_node,
    ("", "persistentvolumeclaims"): _check_claim,
    ("", "pods"): check_pod,
    ("", "serviceaccounts"): _check_token,
    ("certificates.k8s.io", "certificatesigningrequests"): _check_certificate,
    ("coordination.k8s.io", "leases"): _check_lease,
    ("resource.k8s.io", "resourceslices"): _check_slice,
    ("storage.k8s.io", "csinodes"): _check_csi_node,
}
