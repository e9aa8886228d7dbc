"""Which rules a resource has: found by name, imported on first use.

A kind with rules of its own has a row in ``_OWN``; others may have a table in ``plain_tables``. All
the rest share the generic rules, which learn from the scheme whether there is a ``/status`` and from
``_WITH_GENERATION`` whether changes are counted.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, cast

from podling.apiserver.kinds.base import KindRules
from podling.machinery.scheme import Resource

_OWN: dict[tuple[str, str], tuple[str, str]] = {
    ("", "configmaps"): ("configmaps", "ConfigMapRules"),
    ("", "endpoints"): ("endpoints", "EndpointsRules"),
    ("", "events"): ("events", "EventRules"),
    ("", "limitranges"): ("quotas", "LimitRangeRules"),
    ("", "namespaces"): ("namespaces", "NamespaceRules"),
    ("", "nodes"): ("nodes", "NodeRules"),
    ("", "persistentvolumeclaims"): ("volumes", "ClaimRules"),
    ("", "persistentvolumes"): ("volumes", "VolumeRules"),
    ("", "pods"): ("pods", "PodRules"),
    ("", "replicationcontrollers"): ("replicasets", "ReplicationControllerRules"),
    ("", "resourcequotas"): ("quotas", "ResourceQuotaRules"),
    ("", "secrets"): ("secrets", "SecretRules"),
    ("", "serviceaccounts"): ("accounts", "ServiceAccountRules"),
    ("", "services"): ("services", "ServiceRules"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("definitions", "DefinitionRules"),
    ("apps", "daemonsets"): ("daemonsets", "DaemonSetRules"),
    ("apps", "deployments"): ("deployments", "DeploymentRules"),
    ("apps", "replicasets"): ("replicasets", "ReplicaSetRules"),
    ("apps", "statefulsets"): ("statefulsets", "StatefulSetRules"),
    ("autoscaling", "horizontalpodautoscalers"): ("autoscalers", "AutoscalerRules"),
    ("batch", "cronjobs"): ("cronjobs", "CronJobRules"),
    ("batch", "jobs"): ("jobs", "JobRules"),
    ("coordination.k8s.io", "leases"): ("accounts", "LeaseRules"),
    ("discovery.k8s.io", "endpointslices"): ("endpoints", "EndpointSliceRules"),
    ("events.k8s.io", "events"): ("events", "EventRules"),
    ("networking.k8s.io", "ingresses"): ("ingresses", "IngressRules"),
    ("networking.k8s.io", "networkpolicies"): ("ingresses", "NetworkPolicyRules"),
    ("policy", "poddisruptionbudgets"): ("disruption_budgets", "DisruptionBudgetRules"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"): ("roles", "BindingRules"),
    ("rbac.authorization.k8s.io", "clusterroles"): ("roles", "RoleRules"),
    ("rbac.authorization.k8s.io", "rolebindings"): ("roles", "BindingRules"),
    ("rbac.authorization.k8s.io", "roles"): ("roles", "RoleRules"),
    ("scheduling.k8s.io", "priorityclasses"): ("accounts", "PriorityClassRules"),
    ("storage.k8s.io", "storageclasses"): ("volumes", "StorageClassRules"),
}
"""(group, plural) of a resource to the module below this package and the class in it."""

_WITH_GENERATION = frozenset({
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceslices"),
})  # fmt: skip
"""Kinds without rules of their own whose ``metadata.generation`` counts changes of the spec."""


@cache
def rules_for(resource: Resource) -> KindRules[Any]:
    """The rules of a resource; the same object every time."""
    found = _OWN.get((resource.group, resource.plural))
    if found is None:
        return _plain(resource)
    module_name, class_name = found
    module = importlib.import_module(f"podling.apiserver.kinds.{module_name}")
    return cast("KindRules[Any]", getattr(module, class_name)())


def _plain(resource: Resource) -> KindRules[Any]:
    """Generic rules, with a table if there is one."""
    from podling.apiserver.kinds.plain_tables import TABLES, TableRules

    table = TABLES.get((resource.group, resource.plural))
    rules: KindRules[Any] = KindRules() if table is None else TableRules(*table)
    rules.status_subresource = "status" in resource.subresources
    rules.generation = (resource.group, resource.plural) in _WITH_GENERATION
    return rules
