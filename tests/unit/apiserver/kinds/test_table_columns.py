"""The columns of every built-in kind, and rows of kinds that no other test shows.

``Name*``: the column has the format ``name``. ``#`` an integer, ``?`` a boolean, ``@`` a date, and nothing at
all a string; ``+`` comes before what only wide output shows.
"""

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
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.certificates_v1 import CertificateSigningRequest
from podling.api.core_v1 import PersistentVolume, PersistentVolumeClaim, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.api.flowcontrol_v1 import PriorityLevelConfiguration
from podling.api.networking_v1 import Ingress, IPAddress
from podling.api.resource_v1 import ResourceClaim
from podling.api.storage_v1 import CSIDriver, StorageClass, VolumeAttachment
from podling.apiserver.kinds.apps.scales import SCALES
from podling.apiserver.kinds.registry import rules_for
from podling.machinery import tables
from podling.machinery.scheme import RESOURCES
from podling.machinery.tables import Column
from tests.support.manifests import NOW, obj, rules

_TYPES = {"string": "", "integer": "#", "boolean": "?", "date": "@"}
_TEMPLATE = "+Containers, +Images, +Selector"
_EVENT = (
    "Last Seen, Type, Reason, Object, +Subobject, +Source, Message, +First Seen, +Count, +Name*"
)  # fmt: skip
_AUTOSCALER = "Name*, Reference, Targets, MinPods, MaxPods, Replicas, Age"
_REPLICAS = f"Name*, Desired#, Current#, Ready#, Age, {_TEMPLATE}"
_BINDING = "Name*, Role, Age, +Users, +Groups, +ServiceAccounts"
COLUMNS = {
    "configmaps": "Name*, Data, Age",
    "endpoints": "Name*, Endpoints, Age",
    "events": _EVENT,
    "limitranges": "Name*, Created At@",
    "namespaces": "Name*, Status, Age",
    "nodes": (
        "Name*, Status, Roles, Age, Version, +Internal-IP, +External-IP, +OS-Image, +Kernel-Version, "
        "+Container-Runtime"
    ),
    "persistentvolumeclaims": (
        "Name*, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, +VolumeMode"
    ),
    "persistentvolumes": (
        "Name*, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, "
        "Reason, Age, +VolumeMode"
    ),
    "pods": "Name*, Ready, Status, Restarts, Age, +IP, +Node, +Nominated Node, +Readiness Gates",
    "podtemplates": "Name*, Containers, Images, Pod Labels",
    "replicationcontrollers": _REPLICAS,
    "resourcequotas": "Name*, Request, Limit, Age",
    "secrets": "Name*, Type, Data, Age",
    "serviceaccounts": "Name*, Secrets, Age",
    "services": "Name*, Type, Cluster-IP, External-IP, Port(s), Age, +Selector",
    "controllerrevisions.apps": "Name*, Controller, Revision, Age",
    "daemonsets.apps": (
        f"Name*, Desired#, Current#, Ready#, Up-to-date#, Available#, Node Selector, Age, {_TEMPLATE}"
    ),
    "deployments.apps": f"Name*, Ready, Up-to-date, Available, Age, {_TEMPLATE}",
    "replicasets.apps": _REPLICAS,
    "statefulsets.apps": "Name*, Ready, Age, +Containers, +Images",
    "cronjobs.batch": (f"Name*, Schedule, Timezone, Suspend?, Active#, Last Schedule, Age, {_TEMPLATE}"),
    "jobs.batch": f"Name*, Status, Completions, Duration, Age, {_TEMPLATE}",
    "horizontalpodautoscalers.autoscaling": _AUTOSCALER,
    "poddisruptionbudgets.policy": "Name*, Min Available, Max Unavailable, Allowed Disruptions#, Age",
    "priorityclasses.scheduling.k8s.io": "Name*, Value#, Global-Default?, Age, PreemptionPolicy",
    "events.events.k8s.io": _EVENT,
    "leases.coordination.k8s.io": "Name*, Holder, Age",
    "endpointslices.discovery.k8s.io": "Name*, AddressType, Ports, Endpoints, Age",
    "runtimeclasses.node.k8s.io": "Name*, Handler, Age",
    "certificatesigningrequests.certificates.k8s.io": (
        "Name*, Age, SignerName, Requestor, RequestedDuration, Condition"
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterroles.rbac.authorization.k8s.io": "Name*, Created At@",
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "roles.rbac.authorization.k8s.io": "Name*, Created At@",
    "mutatingadmissionpolicies.admissionregistration.k8s.io": "Name*, Mutations#, ParamKind, Age",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": "Name*, PolicyName, ParamRef, Age",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": "Name*, Webhooks#, Age",
    "validatingadmissionpolicies.admissionregistration.k8s.io": "Name*, Validations#, ParamKind, Age",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": "Name*, PolicyName, ParamRef, Age",
    "validatingwebhookconfigurations.admissionregistration.k8s.io": "Name*, Webhooks#, Age",
    "customresourcedefinitions.apiextensions.k8s.io": "Name*, Created At@",
    "apiservices.apiregistration.k8s.io": "Name*, Service, Available, Age",
    "flowschemas.flowcontrol.apiserver.k8s.io": (
        "Name*, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL"
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        "Name*, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age"
    ),
    "ingressclasses.networking.k8s.io": "Name*, Controller, Parameters, Age",
    "ingresses.networking.k8s.io": "Name*, Class, Hosts, Address, Ports, Age",
    "ipaddresses.networking.k8s.io": "Name*, ParentRef",
    "networkpolicies.networking.k8s.io": "Name*, Pod-Selector, Age",
    "servicecidrs.networking.k8s.io": "Name*, CIDRs, Age",
    "deviceclasses.resource.k8s.io": "Name*, Age",
    "resourceclaims.resource.k8s.io": "Name*, State, Age",
    "resourceclaimtemplates.resource.k8s.io": "Name*, Age",
    "resourceslices.resource.k8s.io": "Name*, Node, Driver, Pool, Age",
    "csidrivers.storage.k8s.io": (
        "Name*, AttachRequired?, PodInfoOnMount?, StorageCapacity?, TokenRequests, RequiresRepublish?, "
        "Modes, Age"
    ),
    "csinodes.storage.k8s.io": "Name*, Drivers#, Age",
    "csistoragecapacities.storage.k8s.io": "Name*, StorageClassName, Capacity",
    "storageclasses.storage.k8s.io": (
        "Name*, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age"
    ),
    "volumeattachments.storage.k8s.io": "Name*, Attacher*, PV, Node, Attached?, Age",
    "volumeattributesclasses.storage.k8s.io": "Name*, DriverName, Age",
}


def text(column: Column) -> str:
    mark = "*" if column.format == "name" else ""
    return f"{'+' * column.priority}{column.name}{mark}{_TYPES[column.type]}"


def test_every_kind_has_the_columns_that_kubernetes_gives_it() -> None:
    found = {
        each.group_resource: ", ".join(map(text, rules_for(each).columns or tables.DEFAULT_COLUMNS))
        for each in RESOURCES
        if each.stored
    }
    assert found == COLUMNS
    assert ", ".join(map(text, SCALES.columns)) == "Name, Desired#, Available#, Age"


META = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"
_TARGETS = (
    "spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 3, metrics: [%s]}\n"
    "status: {currentMetrics: [%s]}"
)


def metric(kind: str, name: str, target: str, current: str) -> str:
    spec, status = f"target: {{{target}}}", f"current: {{{current}}}"
    if kind == "resource":
        spec = f"name: {name}, {spec}"
    shown = f"{{type: {kind.capitalize()}, {kind}: {{{spec}}}}}"
    return _TARGETS % (shown, f"{{type: {kind.capitalize()}, {kind}: {{{status}}}}}")


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (StorageClass, "allowVolumeExpansion: true", ["x", "", "Delete", "Immediate", True, "5m"]),
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
    (PersistentVolume, "spec: {}", ["x", "0"]),
    (
        PersistentVolumeClaim,
        "spec: {volumeName: v}\nstatus: {phase: Pending}",
        ["x", "Pending", "v", "0", "", "", "<unset>", "5m", "<unset>"],
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
        EndpointSlice,
        "addressType: IPv4\nports: [{name: a}, {}, {port: 80}]",
        ["x", "IPv4", "a,*,80", "<unset>", "5m"],
    ),
    (
        Ingress,
        "spec: {rules: [{host: a}, {}, {host: b}, {host: c}, {}]}\n"
        "status: {loadBalancer: {ingress: [{ip: 1.2.3.9}, {hostname: h}, {ip: 1.2.3.4}, {ip: 1.2.3.4}]}}",
        ["x", "<none>", "a,b,c + 2 more...", "1.2.3.4,1.2.3.9,h", "80", "5m"],
    ),
    (Ingress, "spec: {rules: [{host: a}, {host: b}, {host: c}]}", ["x", "<none>", "a,b,c", "", "80", "5m"]),
    (
        Service,
        "spec: {type: LoadBalancer, externalIPs: [1.1.1.1]}\n"
        "status: {loadBalancer: {ingress: [{ip: 1.2.3.9}, {ip: 1.2.3.4}]}}",
        ["x", "LoadBalancer", "<none>", "1.2.3.4,1.2.3.9,1.1.1.1", "<none>", "5m", "<none>"],
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
    *(
        (HorizontalPodAutoscaler, metric(*parts), ["x", "Deployment/web", shown])
        for parts, shown in (
            (("resource", "cpu", "averageUtilization: 80", "averageUtilization: 7"), "cpu: 7%/80%"),
            (("resource", "cpu", "averageValue: 2", "averageValue: 1"), "cpu: 1/2"),
            (("resource", "cpu", "type: Utilization", ""), "cpu: <unknown>/<auto>"),
            (("pods", "", "averageValue: 2", "averageValue: 1"), "1/2"),
            (("object", "", "averageValue: 2", "averageValue: 1"), "1/2 (avg)"),
            (("object", "", "value: 2", "value: 1"), "1/2"),
            (("external", "", "averageValue: 2", ""), "<unknown>/2 (avg)"),
            (("external", "", "value: 2", "value: 1"), "1/2"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "expected"), ROWS)
def test_rows(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(kind, given if "metadata" in given else f"{META}\n{given}" if given != "{}" else META)
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected
