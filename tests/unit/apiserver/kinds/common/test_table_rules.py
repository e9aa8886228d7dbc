"""Tests of the tables of kinds without rows of their own."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.admissionregistration_v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from podling.api.apps_v1 import ControllerRevision
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.flowcontrol_v1 import PriorityLevelConfiguration
from podling.api.networking_v1 import IPAddress
from podling.api.resource_v1 import ResourceClaim
from podling.api.storage_v1 import CSIDriver, VolumeAttachment
from tests.support.manifests import NOW, obj, rules

CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (CSIDriver, "spec: {}", ["x", True, False, False, "<unset>", False, "<none>", "5m"]),
    (
        CSIDriver,
        "spec: {attachRequired: false, podInfoOnMount: true, storageCapacity: true, requiresRepublish: true, "
        "tokenRequests: [{audience: a}, {audience: b}], volumeLifecycleModes: [Persistent, Ephemeral]}",
        ["x", False, True, True, "a,b", True, "Persistent,Ephemeral", "5m"],
    ),
    (
        VolumeAttachment,
        "spec: {attacher: a, nodeName: n, source: {persistentVolumeName: v}}\nstatus: {attached: true}",
        ["x", "a", "v", "n", True, "5m"],
    ),
    (
        CertificateSigningRequest,
        "spec: {signerName: example.com/a}",
        ["x", "5m", "example.com/a", "", "<none>", "Pending"],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {type: Exempt, exempt: {nominalConcurrencyShares: 3}}",
        ["x", "Exempt", "<none>", "<none>", "<none>", "<none>", "5m"],
    ),
    (
        PriorityLevelConfiguration,
        "spec: {type: Limited, limited: {nominalConcurrencyShares: 3, limitResponse: {type: Queue, "
        "queuing: {queues: 8, handSize: 2, queueLengthLimit: 50}}}}",
        ["x", "Limited", 3, 8, 2, 50, "5m"],
    ),
    (
        IPAddress,
        "spec: {parentRef: {resource: services, namespace: default, name: web}}",
        ["x", "services/default/web"],
    ),
    (
        IPAddress,
        "spec: {parentRef: {group: Networking.k8s.io, resource: Gateways, name: web}}",
        ["x", "gateways.networking.k8s.io/web"],
    ),
    (ResourceClaim, "{}", ["x", "pending", "5m"]),
    (ResourceClaim, "status: {reservedFor: [{resource: pods, name: p, uid: u}]}", ["x", "pending", "5m"]),
    (
        ResourceClaim,
        "status: {allocation: {}, reservedFor: [{resource: pods, name: p, uid: u}]}",
        ["x", "allocated,reserved", "5m"],
    ),
    (
        ControllerRevision,
        "revision: 3\nmetadata: {name: x, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, "
        "name: db, uid: u, controller: true}]}",
        ["x", "statefulset.apps/db", 3, "<unknown>"],
    ),
    (ValidatingAdmissionPolicy, "spec: {validations: [{expression: 'true'}]}", ["x", 1, "<unset>", "5m"]),
    (
        MutatingAdmissionPolicy,
        "spec: {mutations: [{}, {}], paramKind: {apiVersion: v1, kind: ConfigMap}}",
        ["x", 2, "v1/ConfigMap", "5m"],
    ),
    (ValidatingAdmissionPolicyBinding, "spec: {policyName: p}", ["x", "p", "<unset>", "5m"]),
    (
        ValidatingAdmissionPolicyBinding,
        "spec: {policyName: p, paramRef: {name: a, namespace: n}}",
        ["x", "p", "n/a", "5m"],
    ),
    (MutatingAdmissionPolicyBinding, "spec: {policyName: p, paramRef: {name: a}}", ["x", "p", "*/a", "5m"]),
    (
        MutatingAdmissionPolicyBinding,
        "spec: {policyName: p, paramRef: {selector: {matchLabels: {b: c, a: b}, matchExpressions: "
        "[{key: k, operator: In, values: [v, w]}]}}}",
        [
            "x",
            "p",
            "&LabelSelector{MatchLabels:map[string]string{a: b,b: c,},MatchExpressions:"
            "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[v w],},},}",
            "5m",
        ],
    ),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_row_of_kind_shows_its_state(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected
