"""The admission plugins of a cluster, in the order of kube-apiserver.

The order matters: what an earlier plugin adds, a later one checks; quotas are counted last, when nothing
can change any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.apiserver.admission.base import Plugin
from podling.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from podling.apiserver.admission.configuration.types import DEFAULT_SETTINGS, PluginSettings
from podling.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from podling.apiserver.admission.limit_ranger import LimitRanger
from podling.apiserver.admission.mutating_policies import MutatingAdmissionPolicies
from podling.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from podling.apiserver.admission.node_restriction import NodeRestriction
from podling.apiserver.admission.pod_resize_validator import PodResizeValidator
from podling.apiserver.admission.pod_security import PodSecurity
from podling.apiserver.admission.pod_topology_labels import PodTopologyLabels
from podling.apiserver.admission.priority import Priority
from podling.apiserver.admission.resource_quota import ResourceQuotaAdmission
from podling.apiserver.admission.runtime_class import RuntimeClassAdmission
from podling.apiserver.admission.service_account import ServiceAccountAdmission
from podling.apiserver.admission.storage_defaults import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
)
from podling.apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from podling.apiserver.admission.unserved_kinds import UnservedKinds
from podling.apiserver.admission.validating_policies import ValidatingAdmissionPolicies
from podling.apiserver.admission.webhooks import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from podling.apiserver.registry.service_ip_allocator import ServiceAllocation
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges


def default_plugins(
    ranges: NetworkRanges = DEFAULT_RANGES,
    further: Sequence[Plugin] = (),
    settings: PluginSettings = DEFAULT_SETTINGS,
) -> tuple[Plugin, ...]:
    """Return the default plugins of a cluster with these ranges of addresses and node ports.

    ``further`` plugins see what the built-in ones made, and policies and webhooks see what they make.
    ``settings`` are the plugins' configurations.
    """
    return (
        NamespaceLifecycle(),
        LimitRanger(),
        ServiceAccountAdmission(),
        NodeRestriction(),
        TaintNodesByCondition(),
        PodSecurity(settings.pod_security),
        Priority(),
        DefaultTolerationSeconds(),
        DefaultStorageClass(),
        PersistentVolumeClaimResize(),
        StorageObjectInUseProtection(),
        RuntimeClassAdmission(),
        CertificateApproval(),
        CertificateSigning(),
        ClusterTrustBundleAttest(),
        CertificateSubjectRestriction(),
        DefaultIngressClass(),
        PodTopologyLabels(),
        PodResizeValidator(),
        UnservedKinds(),
        *further,
        MutatingAdmissionPolicies(),
        MutatingAdmissionWebhook(),
        ServiceAllocation(ranges),
        ValidatingAdmissionPolicies(),
        ValidatingAdmissionWebhook(),
        ResourceQuotaAdmission(settings.resource_quota),
    )


def plugins_without_controllers(
    ranges: NetworkRanges = DEFAULT_RANGES,
    further: Sequence[Plugin] = (),
    settings: PluginSettings = DEFAULT_SETTINGS,
) -> tuple[Plugin, ...]:
    """For an API server on its own: all but those that need what a controller makes (accounts) or takes away
    (the finalizers of claims and volumes)."""
    need_one = (ServiceAccountAdmission, StorageObjectInUseProtection)
    every = default_plugins(ranges, further, settings)
    return tuple(plugin for plugin in every if not isinstance(plugin, need_one))
