"""Every controller of a cluster, by name, as a control plane runs them by default.

A controller's module is imported at its first use, so a process that runs a few loads only those.
Names are those of ``kube-controller-manager --controllers``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import cast

from podling.controllers.auth.certificate_signing import Signer
from podling.controllers.autoscaling.settings import autoscaler_settings
from podling.controllers.base import Controller, ControllerFactory
from podling.controllers.options import DEFAULT_OPTIONS, ControllerOptions
from podling.controllers.other_apis import NO_OTHER_APIS, OtherApis
from podling.controllers.volumes.volume_folders import Folders
from podling.machinery.feature_gates import NO_GATES, is_enabled
from podling.machinery.network_ranges import DEFAULT_RANGES, NetworkRanges
from podling.machinery.scheme import gated_resources

_CONTROLLERS = {
    "certificatesigningrequest-approving-controller": (
        "auth.certificate_approving",
        "CertificateApprovingController",
    ),
    "certificatesigningrequest-signing-controller": (
        "auth.certificate_signing",
        "CertificateSigningController",
    ),
    "certificatesigningrequest-cleaner-controller": (
        "auth.certificate_cleaner",
        "CertificateCleanerController",
    ),
    "kubelet-serving-certificate-approver": (
        "auth.serving_certificate_approving",
        "ServingCertificateApprovingController",
    ),
    "bootstrap-signer-controller": ("auth.bootstrap_signer", "BootstrapSignerController"),
    "token-cleaner-controller": ("auth.token_cleaner", "TokenCleanerController"),
    "namespace-controller": ("namespace", "NamespaceController"),
    "serviceaccount-controller": ("auth.service_account", "ServiceAccountController"),
    "serviceaccount-token-controller": ("auth.service_account_tokens", "ServiceAccountTokensController"),
    "legacy-serviceaccount-token-cleaner-controller": (
        "auth.legacy_token_cleaner",
        "LegacyTokenCleanerController",
    ),
    "clusterrole-aggregation-controller": (
        "auth.clusterrole_aggregation",
        "ClusterRoleAggregationController",
    ),
    "root-ca-certificate-publisher-controller": ("auth.root_ca", "RootCAController"),
    "kube-apiserver-serving-clustertrustbundle-publisher-controller": (
        "auth.trust_bundle_publisher",
        "TrustBundleController",
    ),
    "garbage-collector-controller": ("garbage_collector", "GarbageCollectorController"),
    "node-ipam-controller": ("nodes.node_ipam", "NodeIpamController"),
    "node-leave-controller": ("nodes.node_leave", "NodeLeaveController"),
    "node-lifecycle-controller": ("nodes.node_lifecycle", "NodeLifecycleController"),
    "taint-eviction-controller": ("nodes.taint_eviction", "TaintEvictionController"),
    "pod-garbage-collector-controller": ("nodes.pod_gc", "PodGCController"),
    "ttl-controller": ("nodes.ttl", "TTLController"),
    "replicaset-controller": ("workloads.replicaset", "ReplicaSetController"),
    "replicationcontroller-controller": (
        "workloads.replication_controller",
        "ReplicationControllerController",
    ),
    "deployment-controller": ("workloads.deployment", "DeploymentController"),
    "statefulset-controller": ("workloads.statefulset", "StatefulSetController"),
    "daemonset-controller": ("workloads.daemonset", "DaemonSetController"),
    "job-controller": ("workloads.job", "JobController"),
    "cronjob-controller": ("workloads.cronjob", "CronJobController"),
    "ttl-after-finished-controller": ("workloads.ttl_after_finished", "TTLAfterFinishedController"),
    "disruption-controller": ("workloads.disruption", "DisruptionController"),
    "stale-pod-disruption": ("workloads.disruption", "StaleDisruptionController"),
    "endpointslice-controller": ("endpoints.endpointslice", "EndpointSliceController"),
    "persistentvolume-binder-controller": ("volumes.volume_binder", "VolumeBinderController"),
    "persistentvolumeclaim-protection-controller": ("volumes.volume_protection", "ClaimProtectionController"),
    "persistentvolume-protection-controller": ("volumes.volume_protection", "VolumeProtectionController"),
    "volumeattributesclass-protection-controller": (
        "volumes.volume_protection",
        "AttributesClassProtectionController",
    ),
    "persistentvolume-expander-controller": ("volumes.volume_expander", "VolumeExpanderController"),
    "directory-volume-provisioner": ("volumes.directory_provisioner", "DirectoryProvisionerController"),
    "ephemeral-volume-controller": ("volumes.ephemeral_volume", "EphemeralVolumeController"),
    "endpoints-controller": ("endpoints.endpoints", "EndpointsController"),
    "endpointslice-mirroring-controller": (
        "endpoints.endpointslice_mirroring",
        "EndpointSliceMirroringController",
    ),
    "service-lb-controller": ("endpoints.service_load_balancer", "ServiceLoadBalancerController"),
    "service-cidr-controller": ("service_cidr", "ServiceCIDRController"),
    "cluster-dns-controller": ("endpoints.cluster_dns", "ClusterDnsController"),
    "horizontal-pod-autoscaler-controller": ("autoscaling.horizontal", "HorizontalController"),
    "resourcequota-controller": ("resource_quota", "ResourceQuotaController"),
    "resourceclaim-controller": ("resource_claims", "ResourceClaimController"),
}

_NAMESPACE = "namespace-controller"
_GARBAGE = "garbage-collector-controller"
_ROOT_CA = "root-ca-certificate-publisher-controller"
_TRUST = "kube-apiserver-serving-clustertrustbundle-publisher-controller"
_TOKENS = "serviceaccount-token-controller"
_LEGACY_TOKENS = "legacy-serviceaccount-token-cleaner-controller"
_PROVISIONER = "directory-volume-provisioner"
_IPAM = "node-ipam-controller"
_SIGNING = "certificatesigningrequest-signing-controller"
_LIFECYCLE = "node-lifecycle-controller"
_POD_GC = "pod-garbage-collector-controller"
_AUTOSCALER = "horizontal-pod-autoscaler-controller"

NAMES: tuple[str, ...] = tuple(_CONTROLLERS)
_GATES = {_TRUST: "ClusterTrustBundle"}
"""The feature gates of controllers that have one."""


def names_with(gates: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the controllers that exist with these feature gates."""
    return tuple(name for name in NAMES if name not in _GATES or is_enabled(_GATES[name], gates))


def controller(name: str) -> type[Controller]:
    """Return the controller of this name. Raises KeyError."""
    module, class_name = _CONTROLLERS[name]
    return cast(
        "type[Controller]", getattr(importlib.import_module(f"podling.controllers.{module}"), class_name)
    )


def controllers(  # noqa: PLR0913 the parts that controllers are made of
    *,
    root_ca: str = "",
    folders: Folders | None = None,
    signer: Signer | None = None,
    others: OtherApis = NO_OTHER_APIS,
    ranges: NetworkRanges = DEFAULT_RANGES,
    options: ControllerOptions = DEFAULT_OPTIONS,
    names: Collection[str] = NAMES,
    feature_gates: Mapping[str, bool] = NO_GATES,
) -> list[ControllerFactory]:
    """Return the controllers with these ``names``, ready for a ``ControllerManager``.

    Args:
        root_ca: the cluster's root certificate (PEM); without one it is not published,
            and no tokens are put into Secrets.
        folders: where volumes are made for claims; without it none are made.
        signer: signs certificates; without it none are signed.
        others: aggregated APIs: what they keep in namespaces that end, and metrics.
        ranges: the cluster's addresses; every node gets a block of each range of pods.
        options: settings of the controllers that have any.
        feature_gates: the gates that differ from their defaults.
    """
    gated = gated_resources(feature_gates)
    needs: dict[str, dict[str, object]] = {
        _ROOT_CA: {"certificate": root_ca},
        _TRUST: {"certificate": root_ca},
        _TOKENS: {"certificate": root_ca},
        _PROVISIONER: {"folders": folders},
        _SIGNING: {"signer": signer},
        _NAMESPACE: {"others": others, **({"gated": gated} if gated else {})},
        _GARBAGE: {"gated": gated} if gated else {},
        _IPAM: {"ranges": ranges.pods, "prefixes": ranges.node_prefixes},
        _LIFECYCLE: {"options": options},
        _POD_GC: {"options": options},
        _LEGACY_TOKENS: {"options": options},
        _AUTOSCALER: {"metrics": others, "settings": autoscaler_settings(options)},
    }
    made: list[ControllerFactory] = []
    for name in names_with(feature_gates):
        needed = needs.get(name, {})
        if name in names and all(needed.values()):
            found: Callable[..., Controller] = controller(name)
            made.append(partial(found, **needed) if needed else found)
    return made
