"""Names that OpenKruise's controllers share: groups, labels, annotations, conditions. Pure.

Upstream: ``apis/apps/pub`` and ``apis/apps/v1beta1/well_known_labels.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

GROUP = "apps.kruise.io"
POLICY_GROUP = "policy.kruise.io"
SYSTEM_NAMESPACE = "kruise-system"
"""The namespace of OpenKruise's configuration, and of revisions whose owner has none."""

INSTANCE_ID = "apps.kruise.io/cloneset-instance-id"
"""The label that a pod of a CloneSet shares with its claims."""
SPECIFIED_DELETE = "apps.kruise.io/specified-delete"
"""The label of pods that their workload shall delete first."""
EXCLUDE_PREPARING_DELETE = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"

REVISION_HASH = "controller-revision-hash"
TEMPLATE_HASH = "pod-template-hash"

DELETION_PROTECTION = "policy.kruise.io/delete-protection"
"""The label of objects that must not be deleted: ``Always``, or ``Cascading`` while they own others."""

PROTECT_OPERATIONS = "kruise.io/pub-protect-operations"
PROTECT_TOTAL_REPLICAS = "pub.kruise.io/protect-total-replicas"
"""Annotations of PodUnavailableBudgets, which are fields of the newer version."""
NO_PROTECTION = "pub.kruise.io/no-protect"
"""The annotation of pods that no PodUnavailableBudget protects."""
RELATED_BUDGET, DEPRECATED_RELATED_BUDGET = "pub.kruise.io/related-pub", "kruise.io/related-pub"
"""Annotations of pods with the name of their PodUnavailableBudget."""
UNAVAILABLE_PREFIX = "unavailable-pod.kruise.io/"
"""The prefix of labels that make a pod count as unavailable."""

LIFECYCLE_STATE = "lifecycle.apps.kruise.io/state"
LIFECYCLE_TIMESTAMP = "lifecycle.apps.kruise.io/timestamp"

IN_PLACE_UPDATE_READY = "InPlaceUpdateReady"
"""The readiness gate that is False while a pod is updated in place."""
KRUISE_POD_READY = "KruisePodReady"
"""The readiness gate that several writers may close; its message lists them."""
UPDATE_STATE = "apps.kruise.io/inplace-update-state"
UPDATE_GRACE = "apps.kruise.io/inplace-update-grace"
RUNTIME_CONTAINERS_META = "apps.kruise.io/runtime-containers-meta"

LAUNCH_PRIORITY = "apps.kruise.io/container-launch-priority"
"""The annotation that makes a pod's containers start in the order of the list: ``Ordered``."""
LAUNCH_COMPLETED = "apps.kruise.io/container-launch-priority-completed"
LAUNCH_VARIABLE = "KRUISE_CONTAINER_PRIORITY"
"""The environment variable with which users give a container its launch priority."""
LAUNCH_BARRIER = "KRUISE_CONTAINER_BARRIER"
"""The environment variable whose key of a ConfigMap names a container's launch priority."""

PREDOWNLOAD_PARALLELISM = "apps.kruise.io/image-predownload-parallelism"
PREDOWNLOAD_TIMEOUT = "apps.kruise.io/image-predownload-timeout-seconds"
PREDOWNLOAD_MIN_UPDATED = "apps.kruise.io/image-predownload-min-updated-ready-pods"
PREDOWNLOAD_CREATED = "apps.kruise.io/pre-predownload-created"
PREDOWNLOAD_IGNORED = "apps.kruise.io/image-predownload-ignored"
"""Labels of revisions: whether the downloads of their images were begun, or are left out."""

IN_PLACE_VERTICAL_SCALING = "InPlaceWorkloadVerticalScaling"
ENV_FROM_METADATA = "InPlaceUpdateEnvFromMetadata"
PARTITION_ROLLBACK = "CloneSetPartitionRollback"
PREPARING_UPDATE_AS_UPDATE = "PreparingUpdateAsUpdate"
SHORT_HASH = "CloneSetShortHash"
TEMPLATE_NO_DEFAULTS = "TemplateNoDefaults"
POD_READINESS_GATE = "KruisePodReadinessGate"
DELETION_PROTECTION_GATE = "ResourcesDeletionProtection"
METADATA_PATCHES_ALLOWED = "SidecarSetPatchPodMetadataDefaultsAllowed"
SORTED_SIDECARS = "EnableSortSidecarContainerByName"
AUTO_RESIZE_CLAIMS = "StatefulSetAutoResizePVCGate"
BUDGET_DELETE_GATE = "PodUnavailableBudgetDeleteGate"
BUDGET_UPDATE_GATE = "PodUnavailableBudgetUpdateGate"
CRD_CASCADING = "DeletionProtectionForCRDCascadingGate"
RECREATE_WITH_CLAIMS = "RecreatePodWhenChangeVCTInCloneSetGate"
PREDOWNLOAD_GATE = "PreDownloadImageForInPlaceUpdate"
DAEMON_PREDOWNLOAD_GATE = "PreDownloadImageForDaemonSetUpdate"

FEATURE_GATES: Mapping[str, bool] = {
    SHORT_HASH: False,
    PARTITION_ROLLBACK: False,
    ENV_FROM_METADATA: True,
    IN_PLACE_VERTICAL_SCALING: False,
    PREPARING_UPDATE_AS_UPDATE: False,
    TEMPLATE_NO_DEFAULTS: False,
    DELETION_PROTECTION_GATE: True,
    CRD_CASCADING: False,
    AUTO_RESIZE_CLAIMS: True,
    BUDGET_DELETE_GATE: True,
    BUDGET_UPDATE_GATE: True,
    METADATA_PATCHES_ALLOWED: False,
    SORTED_SIDECARS: False,
    POD_READINESS_GATE: False,
    RECREATE_WITH_CLAIMS: False,
    PREDOWNLOAD_GATE: False,
    DAEMON_PREDOWNLOAD_GATE: False,
}
"""OpenKruise's feature gates that are honoured.

Protection of deletion, and of updates by PodUnavailableBudgets, and the growth of claims are on: what wants
them shall not be without effect.
"""
