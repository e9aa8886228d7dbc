"""``rules_for``, which imports the rules of a resource on first use.

Kinds without a row in ``_OWN`` are never stored. Rules that inherit from ``table_rules.TableRules`` take
their columns from there.
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
    ("", "limitranges"): ("core.limit_ranges", "LimitRangeRules"),
    ("", "namespaces"): ("core.namespaces", "NamespaceRules"),
    ("", "nodes"): ("core.nodes", "NodeRules"),
    ("", "persistentvolumeclaims"): ("storage.persistent_volume_claims", "ClaimRules"),
    ("", "persistentvolumes"): ("storage.persistent_volumes", "VolumeRules"),
    ("", "pods"): ("pod.pods", "PodRules"),
    ("", "podtemplates"): ("core.pod_templates", "PodTemplateRules"),
    ("", "replicationcontrollers"): ("apps.replicasets", "ReplicationControllerRules"),
    ("", "resourcequotas"): ("core.resource_quotas", "ResourceQuotaRules"),
    ("", "secrets"): ("core.secrets", "SecretRules"),
    ("", "serviceaccounts"): ("auth.service_accounts", "ServiceAccountRules"),
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
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        "extensions.custom_resource_definitions",
        "DefinitionRules",
    ),
    ("apiregistration.k8s.io", "apiservices"): ("extensions.api_services", "APIServiceRules"),
    ("apps", "controllerrevisions"): ("apps.controller_revisions", "ControllerRevisionRules"),
    ("", "componentstatuses"): ("core.component_statuses", "ComponentStatusRules"),
    ("apps", "daemonsets"): ("apps.daemonsets", "DaemonSetRules"),
    ("apps", "deployments"): ("apps.deployments", "DeploymentRules"),
    ("apps", "replicasets"): ("apps.replicasets", "ReplicaSetRules"),
    ("apps", "statefulsets"): ("apps.statefulsets", "StatefulSetRules"),
    ("autoscaling", "horizontalpodautoscalers"): ("apps.horizontal_pod_autoscalers", "AutoscalerRules"),
    ("batch", "cronjobs"): ("batch.cronjobs", "CronJobRules"),
    ("batch", "jobs"): ("batch.jobs", "JobRules"),
    ("certificates.k8s.io", "clustertrustbundles"): ("auth.trust_bundles", "TrustBundleRules"),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        "auth.certificate_requests",
        "CertificateRequestRules",
    ),
    ("coordination.k8s.io", "leases"): ("core.leases", "LeaseRules"),
    ("discovery.k8s.io", "endpointslices"): ("networking.endpoint_slices", "EndpointSliceRules"),
    ("events.k8s.io", "events"): ("core.events", "NewEventRules"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): ("flowcontrol.flow_schemas", "FlowSchemaRules"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        "flowcontrol.priority_levels",
        "PriorityLevelRules",
    ),
    ("networking.k8s.io", "ingressclasses"): ("networking.ingress_classes", "IngressClassRules"),
    ("networking.k8s.io", "ingresses"): ("networking.ingresses", "IngressRules"),
    ("networking.k8s.io", "ipaddresses"): ("networking.ip_addresses", "IPAddressRules"),
    ("networking.k8s.io", "networkpolicies"): ("networking.network_policies", "NetworkPolicyRules"),
    ("networking.k8s.io", "servicecidrs"): ("networking.service_cidrs", "ServiceCIDRRules"),
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
    ("scheduling.k8s.io", "podgroups"): ("scheduling.pod_groups", "PodGroupRules"),
    ("scheduling.k8s.io", "priorityclasses"): ("scheduling.priority_classes", "PriorityClassRules"),
    ("scheduling.k8s.io", "workloads"): ("scheduling.pod_groups", "WorkloadRules"),
    ("storage.k8s.io", "csidrivers"): ("storage.csi_drivers", "CSIDriverRules"),
    ("storage.k8s.io", "csinodes"): ("storage.csi_nodes", "CSINodeRules"),
    ("storage.k8s.io", "csistoragecapacities"): ("storage.csi_storage_capacities", "CSIStorageCapacityRules"),
    ("storage.k8s.io", "storageclasses"): ("storage.storage_classes", "StorageClassRules"),
    ("storage.k8s.io", "volumeattachments"): ("storage.volume_attachments", "VolumeAttachmentRules"),
    ("storage.k8s.io", "volumeattributesclasses"): ("storage.storage_classes", "VolumeAttributesClassRules"),
}
"""The module below this package and the class in it, by (group, plural)."""


@cache
def rules_for(resource: Resource) -> KindRules[Any]:
    """Return the rules of a resource; the same object every time."""
    from podling.apiserver.kinds.common.table_rules import TABLES, TableRules

    key = (resource.group, resource.plural)
    if key not in _OWN:
        return KindRules()
    module, name = _OWN[key]
    rules: type[KindRules[Any]] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    return rules(*TABLES.get(key, ())) if issubclass(rules, TableRules) else rules()
