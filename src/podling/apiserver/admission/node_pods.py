"""Limits on a kubelet's writes of pods: it creates mirror pods, and updates the status of its own pods.

Source: ``admitPod``, ``admitPodStatus`` and ``admitPodEviction`` in ``plugin/pkg/admission/noderestriction``.
"""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import Node, Pod
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation
from podling.machinery.errors import not_found
from podling.machinery.pod_references import api_object_reference
from podling.machinery.pods import MIRROR_ANNOTATION, is_mirror


def check_pod(request: AdmissionRequest, node: str, objects: Objects) -> None:
    """Raises 403 for what the kubelet of ``node`` may not do."""
    if request.subresource == "status":
        _check_status(request, node)
    elif request.subresource == "eviction":
        _check_eviction(request, node, objects)
    elif request.subresource:
        raise request.forbidden(
            f"unexpected pod subresource \"{request.subresource}\", only 'status' and 'eviction' are allowed"
        )
    elif request.operation is Operation.CREATE:
        _check_mirror(request, node, objects)
    elif request.operation is Operation.DELETE:
        _own(request, request.old, node, "can only delete pods with spec.nodeName set to itself")
    else:
        only = f'node "{node}" can only create and delete mirror pods'
        raise request.forbidden(f'unexpected operation "{request.operation}", {only}')


def _check_status(request: AdmissionRequest, node: str) -> None:
    new, old = request.object, request.old
    _own(request, old, node, "can only update pod status for pods with spec.nodeName set to itself")
    if new.metadata.labels != old.metadata.labels:
        raise request.forbidden(f'node "{node}" cannot update labels through pod status')
    if new.status.resource_claim_statuses != old.status.resource_claim_statuses:
        raise request.forbidden(f'node "{node}" cannot update resource claim statues')


def _check_eviction(request: AdmissionRequest, node: str, objects: Objects) -> None:
    pod = objects.get(Pod, request.name, request.namespace)
    if pod is None:
        raise not_found("pods", "", request.name)
    if pod.spec.node_name != node:
        raise request.forbidden(f"node {node} can only evict pods with spec.nodeName set to itself")


def _own(request: AdmissionRequest, pod: Any, node: str, rule: str) -> None:
    if pod.spec.node_name != node:
        raise request.forbidden(f'node "{node}" {rule}')


def _check_mirror(request: AdmissionRequest, node: str, objects: Objects) -> None:
    """Let a kubelet create mirrors of its own static pods, which refer to no other API object."""
    pod: Pod = request.object
    if not is_mirror(pod):
        why = f'pod does not have "{MIRROR_ANNOTATION}" annotation, node "{node}" can only create mirror pods'
        raise request.forbidden(why)
    _own(request, pod, node, "can only create pods with spec.nodeName set to itself")
    _check_owner(request, pod, node, objects)
    resource = api_object_reference(pod)
    if resource:
        raise request.forbidden(f'node "{node}" can not create pods that reference {resource}')


def _check_owner(request: AdmissionRequest, pod: Pod, node: str, objects: Objects) -> None:
    owners = pod.metadata.owner_references
    if len(owners) > 1:
        why = f'node "{node}" can only create pods with a single owner reference set to itself'
        raise request.forbidden(why)
    if not owners or (owners[0].api_version, owners[0].kind, owners[0].name) != ("v1", "Node", node):
        raise request.forbidden(f'node "{node}" can only create pods with an owner reference set to itself')
    owner = owners[0]
    if not owner.controller:
        why = f'node "{node}" can only create pods with a controller owner reference set to itself'
        raise request.forbidden(why)
    if owner.block_owner_deletion:
        raise request.forbidden(f'node "{node}" must not set blockOwnerDeletion on an owner reference')
    found = objects.get(Node, node)
    if found is None:
        raise not_found("nodes", "", node)
    if owner.uid != found.metadata.uid:
        raise request.forbidden(f"node {node} UID mismatch: expected {owner.uid} got {found.metadata.uid}")
