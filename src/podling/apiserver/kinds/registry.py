"""The rules of each resource, found by name and imported on first use.

Kinds without a row in ``_OWN`` are never stored. Those whose rules inherit from ``plain_tables.TableRules``
take their columns from there.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from podling.apiserver.kinds.common.base import KindRules
from podling.machinery.scheme import Resource

_OWN: dict[tuple[str, str], tuple[str, str]] = {
    ("", "configmaps"): ("core.configmaps", "ConfigMapRules"),
    ("", "endpoints"): ("networking.endpoints", "EndpointsRules"),
    ("", "events"): ("core.events", "EventRules"),
    ("", "limitranges"): ("core.quotas", "LimitRangeRules"),
    ("", "namespaces"): ("core.namespaces", "NamespaceRules"),
    ("", "nodes"): ("core.nodes", "NodeRules"),
    ("", "persistentvolumeclaims"): ("storage.claims", "ClaimRules"),
    ("", "persistentvolumes"): ("storage.persistent_volumes", "VolumeRules"),
    ("", "pods"): ("pod.pods", "PodRules"),
    ("", "podtemplates"): ("apps.templates", "PodTemplateRules"),
    ("", "replicationcontrollers"): ("apps.replicasets", "ReplicationControllerRules"),
    ("", "resourcequotas"): ("core.quotas", "ResourceQuotaRules"),
    ("", "secrets"): ("core.secrets", "SecretRules"),
    ("", "serviceaccounts"): ("auth.accounts", "ServiceAccountRules"),
    ("", "services"): ("networking.services", "ServiceRules"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): (
        "extensions.admission_policies",
        "MutatingPolicyRules",
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): (
        "extensions.admission_policies",
        "MutatingBindingRules",
    ),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): (
        "extensions.webhook_configurations",
        "WebhookConfigurationRules",
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): (
        "extensions.admission_policies",
        "ValidatingPolicyRules",
    ),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): (
        "extensions.admission_policies",
        "ValidatingBindingRules",
    ),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): (
        "extensions.webhook_configurations",
        "WebhookConfigurationRules",
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("extensions.definitions", "DefinitionRules"),
    ("apiregistration.k8s.io", "apiservices"): ("extensions.api_services", "APIServiceRules"),
    ("apps", "controllerrevisions"): ("apps.templates", "ControllerRevisionRules"),
    ("", "componentstatuses"): ("core.component_statuses", "ComponentStatusRules"),
    ("apps", "daemonsets"): ("apps.daemonsets", "DaemonSetRules"),
    ("apps", "deployments"): ("apps.deployments", "DeploymentRules"),
    ("apps", "replicasets"): ("apps.replicasets", "ReplicaSetRules"),
    ("apps", "statefulsets"): ("apps.statefulsets", "StatefulSetRules"),
    ("autoscaling", "horizontalpodautoscalers"): ("apps.autoscalers", "AutoscalerRules"),
    ("batch", "cronjobs"): ("batch.cronjobs", "CronJobRules"),
    ("batch", "jobs"): ("batch.jobs", "JobRules"),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        "auth.certificate_requests",
        "CertificateRequestRules",
    ),
    ("coordination.k8s.io", "leases"): ("auth.accounts", "LeaseRules"),
    ("discovery.k8s.io", "endpointslices"): ("networking.endpoint_slices", "EndpointSliceRules"),
    ("events.k8s.io", "events"): ("core.events", "NewEventRules"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): ("flowcontrol.flow_schemas", "FlowSchemaRules"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        "flowcontrol.priority_levels",
        "PriorityLevelRules",
    ),
    ("networking.k8s.io", "ingressclasses"): ("networking.network_classes", "IngressClassRules"),
    ("networking.k8s.io", "ingresses"): ("networking.ingresses", "IngressRules"),
    ("networking.k8s.io", "ipaddresses"): ("networking.network_classes", "IPAddressRules"),
    ("networking.k8s.io", "networkpolicies"): ("networking.network_policies", "NetworkPolicyRules"),
    ("networking.k8s.io", "servicecidrs"): ("networking.network_classes", "ServiceCIDRRules"),
    ("node.k8s.io", "runtimeclasses"): ("scheduling.runtime_classes", "RuntimeClassRules"),
    ("policy", "poddisruptionbudgets"): ("scheduling.disruption_budgets", "DisruptionBudgetRules"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): ("auth.roles", "BindingRules"),
    ("rbac.authorization.k8s.io", "clusterroles"): ("auth.roles", "RoleRules"),
    ("rbac.authorization.k8s.io", "rolebindings"): ("auth.roles", "BindingRules"),
    ("rbac.authorization.k8s.io", "roles"): ("auth.roles", "RoleRules"),
    ("resource.k8s.io", "deviceclasses"): ("resource.device_claims", "DeviceClassRules"),
    ("resource.k8s.io", "resourceclaims"): ("resource.device_claims", "ResourceClaimRules"),
    ("resource.k8s.io", "resourceclaimtemplates"): ("resource.device_claims", "ResourceClaimTemplateRules"),
    ("resource.k8s.io", "resourceslices"): ("resource.resource_slices", "ResourceSliceRules"),
    ("scheduling.k8s.io", "priorityclasses"): ("auth.accounts", "PriorityClassRules"),
    ("storage.k8s.io", "csidrivers"): ("storage.csi", "CSIDriverRules"),
    ("storage.k8s.io", "csinodes"): ("storage.csi", "CSINodeRules"),
    ("storage.k8s.io", "csistoragecapacities"): ("storage.csi", "CSIStorageCapacityRules"),
    ("storage.k8s.io", "storageclasses"): ("storage.storage_classes", "StorageClassRules"),
    ("storage.k8s.io", "volumeattachments"): ("storage.csi", "VolumeAttachmentRules"),
    ("storage.k8s.io", "volumeattributesclasses"): ("storage.storage_classes", "VolumeAttributesClassRules"),
}
"""(group, plural) of a resource to the module below this package and the class in it."""


@cache
def rules_for(resource: Resource) -> KindRules[Any]:
    """Return the rules of a resource; the same object every time."""
    from podling.apiserver.kinds.common.plain_tables import TABLES, TableRules

    key = (resource.group, resource.plural)
    if key not in _OWN:
        return KindRules()
    module, name = _OWN[key]
    rules: type[KindRules[Any]] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return rules(*TABLES.get(key, ())) if issubclass(rules, TableRules) else rules()
