"""The rules of each resource, found by name and imported on first use.

Kinds without a row in ``_OWN`` are never stored. Those whose rules inherit from ``plain_tables.TableRules``
take their columns from there.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from podling.apiserver.kinds.base import KindRules
from podling.machinery.scheme import Resource

_OWN: dict[tuple[str, str], tuple[str, str]] = {
    ("", "configmaps"): ("configmaps", "ConfigMapRules"),
    ("", "endpoints"): ("endpoints", "EndpointsRules"),
    ("", "events"): ("events", "EventRules"),
    ("", "limitranges"): ("quotas", "LimitRangeRules"),
    ("", "namespaces"): ("namespaces", "NamespaceRules"),
    ("", "nodes"): ("nodes", "NodeRules"),
    ("", "persistentvolumeclaims"): ("claims", "ClaimRules"),
    ("", "persistentvolumes"): ("persistent_volumes", "VolumeRules"),
    ("", "pods"): ("pods", "PodRules"),
    ("", "podtemplates"): ("templates", "PodTemplateRules"),
    ("", "replicationcontrollers"): ("replicasets", "ReplicationControllerRules"),
    ("", "resourcequotas"): ("quotas", "ResourceQuotaRules"),
    ("", "secrets"): ("secrets", "SecretRules"),
    ("", "serviceaccounts"): ("accounts", "ServiceAccountRules"),
    ("", "services"): ("services", "ServiceRules"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): (
        "admission_policies",
        "MutatingPolicyRules",
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): (
        "admission_policies",
        "MutatingBindingRules",
    ),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): (
        "webhook_configurations",
        "WebhookConfigurationRules",
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): (
        "admission_policies",
        "ValidatingPolicyRules",
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): (
        "admission_policies",
        "ValidatingBindingRules",
    ),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): (
        "webhook_configurations",
        "WebhookConfigurationRules",
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("definitions", "DefinitionRules"),
    ("apiregistration.k8s.io", "apiservices"): ("api_services", "APIServiceRules"),
    ("apps", "controllerrevisions"): ("templates", "ControllerRevisionRules"),
    ("", "componentstatuses"): ("component_statuses", "ComponentStatusRules"),
    ("apps", "daemonsets"): ("daemonsets", "DaemonSetRules"),
    ("apps", "deployments"): ("deployments", "DeploymentRules"),
    ("apps", "replicasets"): ("replicasets", "ReplicaSetRules"),
    ("apps", "statefulsets"): ("statefulsets", "StatefulSetRules"),
    ("autoscaling", "horizontalpodautoscalers"): ("autoscalers", "AutoscalerRules"),
    ("batch", "cronjobs"): ("cronjobs", "CronJobRules"),
    ("batch", "jobs"): ("jobs", "JobRules"),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        "certificate_requests",
        "CertificateRequestRules",
    ),
    ("coordination.k8s.io", "leases"): ("accounts", "LeaseRules"),
    ("discovery.k8s.io", "endpointslices"): ("endpoint_slices", "EndpointSliceRules"),
    ("events.k8s.io", "events"): ("events", "NewEventRules"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): ("flow_schemas", "FlowSchemaRules"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        "priority_levels",
        "PriorityLevelRules",
    ),
    ("networking.k8s.io", "ingressclasses"): ("network_classes", "IngressClassRules"),
    ("networking.k8s.io", "ingresses"): ("ingresses", "IngressRules"),
    ("networking.k8s.io", "ipaddresses"): ("network_classes", "IPAddressRules"),
    ("networking.k8s.io", "networkpolicies"): ("network_policies", "NetworkPolicyRules"),
    ("networking.k8s.io", "servicecidrs"): ("network_classes", "ServiceCIDRRules"),
    ("node.k8s.io", "runtimeclasses"): ("runtime_classes", "RuntimeClassRules"),
    ("policy", "poddisruptionbudgets"): ("disruption_budgets", "DisruptionBudgetRules"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): ("roles", "BindingRules"),
    ("rbac.authorization.k8s.io", "clusterroles"): ("roles", "RoleRules"),
    ("rbac.authorization.k8s.io", "rolebindings"): ("roles", "BindingRules"),
    ("rbac.authorization.k8s.io", "roles"): ("roles", "RoleRules"),
    ("resource.k8s.io", "deviceclasses"): ("device_claims", "DeviceClassRules"),
    ("resource.k8s.io", "resourceclaims"): ("device_claims", "ResourceClaimRules"),
    ("resource.k8s.io", "resourceclaimtemplates"): ("device_claims", "ResourceClaimTemplateRules"),
    ("resource.k8s.io", "resourceslices"): ("resource_slices", "ResourceSliceRules"),
    ("scheduling.k8s.io", "priorityclasses"): ("accounts", "PriorityClassRules"),
    ("storage.k8s.io", "csidrivers"): ("csi", "CSIDriverRules"),
    ("storage.k8s.io", "csinodes"): ("csi", "CSINodeRules"),
    ("storage.k8s.io", "csistoragecapacities"): ("csi", "CSIStorageCapacityRules"),
    ("storage.k8s.io", "storageclasses"): ("storage_classes", "StorageClassRules"),
    ("storage.k8s.io", "volumeattachments"): ("csi", "VolumeAttachmentRules"),
    ("storage.k8s.io", "volumeattributesclasses"): ("storage_classes", "VolumeAttributesClassRules"),
}
"""(group, plural) of a resource to the module below this package and the class in it."""


@cache
def rules_for(resource: Resource) -> KindRules[Any]:
    """Return the rules of a resource; the same object every time."""
    from podling.apiserver.kinds.plain_tables import TABLES, TableRules

    key = (resource.group, resource.plural)
    if key not in _OWN:
        return KindRules()
    module, name = _OWN[key]
    rules: type[KindRules[Any]] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return rules(*TABLES.get(key, ())) if issubclass(rules, TableRules) else rules()
