"""Tests of the rules found for every kind."""

from __future__ import annotations

from podling.apiserver.kinds.apps.scales import SCALES
from podling.apiserver.kinds.registry import rules_for
from podling.machinery import tables
from podling.machinery.scheme import RESOURCES
from podling.machinery.tables import Column

_EVENT = (
    "Last Seen, Type, Reason, Object, +Subobject, +Source, Message, +First Seen, +Count, +Name*"
)  # fmt: skip
_TEMPLATE = "+Containers, +Images, +Selector"
_REPLICAS = f"Name*, Desired#, Current#, Ready#, Age, {_TEMPLATE}"
_AUTOSCALER = "Name*, Reference, Targets, MinPods, MaxPods, Replicas, Age"
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
_TYPES = {"string": "", "integer": "#", "boolean": "?", "date": "@"}


def text(column: Column) -> str:
    mark = "*" if column.format == "name" else ""
    return f"{'+' * column.priority}{column.name}{mark}{_TYPES[column.type]}"


def test_every_kind_has_the_columns_of_kubernetes() -> None:
    found = {
        each.group_resource: ", ".join(map(text, rules_for(each).columns or tables.DEFAULT_COLUMNS))
        for each in RESOURCES
        if each.stored
    }
    assert found == COLUMNS
    assert ", ".join(map(text, SCALES.columns)) == "Name, Desired#, Available#, Age"
