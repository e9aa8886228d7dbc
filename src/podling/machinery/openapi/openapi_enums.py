"""The values of fields whose types upstream marks as enumerations, for OpenAPI documents. Pure.

A row is a definition below ``io.k8s.api``, a field, and its values in the order of the alphabet. Lists of
such values are left out. Source: the marks ``+enum`` in ``k8s.io/api`` (feature gate OpenAPIEnums).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

_EFFECTS = "NoExecute NoSchedule PreferNoSchedule"
_PULL = "Always IfNotPresent Never"
_MESSAGES = "FallbackToLogsOnError File"
_CONTAINERS = ("Container", "EphemeralContainer")
_MODES = "Block Filesystem"
_CLUSTER_OR_LOCAL = "Cluster Local"
_FAILURE, _MATCH = "Fail Ignore", "Equivalent Exact"

_ROWS: tuple[tuple[str, str, str], ...] = (
    *((f"core.v1.{each}", "imagePullPolicy", _PULL) for each in _CONTAINERS),
    *((f"core.v1.{each}", "terminationMessagePolicy", _MESSAGES) for each in _CONTAINERS),
    ("core.v1.AppArmorProfile", "type", "Localhost RuntimeDefault Unconfined"),
    ("core.v1.ContainerPort", "protocol", "SCTP TCP UDP"),
    ("core.v1.EndpointPort", "protocol", "SCTP TCP UDP"),
    ("core.v1.HTTPGetAction", "scheme", "HTTP HTTPS"),
    ("core.v1.ImageVolumeSource", "pullPolicy", _PULL),
    ("core.v1.NamespaceStatus", "phase", "Active Terminating"),
    ("core.v1.NodeSelectorRequirement", "operator", "DoesNotExist Exists Gt In Lt NotIn"),
    ("core.v1.NodeStatus", "phase", "Pending Running Terminated"),
    ("core.v1.PersistentVolumeClaimSpec", "volumeMode", _MODES),
    ("core.v1.PersistentVolumeClaimStatus", "phase", "Bound Lost Pending"),
    ("core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "Delete Recycle Retain"),
    ("core.v1.PersistentVolumeSpec", "volumeMode", _MODES),
    ("core.v1.PersistentVolumeStatus", "phase", "Available Bound Failed Pending Released"),
    ("core.v1.PodSecurityContext", "fsGroupChangePolicy", "Always OnRootMismatch"),
    ("core.v1.PodSecurityContext", "supplementalGroupsPolicy", "Merge Strict"),
    ("core.v1.PodSpec", "dnsPolicy", "ClusterFirst ClusterFirstWithHostNet Default None"),
    ("core.v1.PodSpec", "preemptionPolicy", "Never PreemptLowerPriority"),
    ("core.v1.PodSpec", "restartPolicy", "Always Never OnFailure"),
    ("core.v1.PodStatus", "phase", "Failed Pending Running Succeeded Unknown"),
    ("core.v1.PodStatus", "qosClass", "BestEffort Burstable Guaranteed"),
    ("core.v1.SeccompProfile", "type", "Localhost RuntimeDefault Unconfined"),
    ("core.v1.SecurityContext", "procMount", "Default Unmasked"),
    ("core.v1.ServicePort", "protocol", "SCTP TCP UDP"),
    ("core.v1.ServiceSpec", "externalTrafficPolicy", _CLUSTER_OR_LOCAL),
    ("core.v1.ServiceSpec", "internalTrafficPolicy", _CLUSTER_OR_LOCAL),
    ("core.v1.ServiceSpec", "ipFamilyPolicy", "PreferDualStack RequireDualStack SingleStack"),
    ("core.v1.ServiceSpec", "sessionAffinity", "ClientIP None"),
    ("core.v1.ServiceSpec", "type", "ClusterIP ExternalName LoadBalancer NodePort"),
    ("core.v1.Taint", "effect", _EFFECTS),
    ("core.v1.Toleration", "effect", _EFFECTS),
    ("core.v1.TopologySpreadConstraint", "nodeAffinityPolicy", "Honor Ignore"),
    ("core.v1.TopologySpreadConstraint", "nodeTaintsPolicy", "Honor Ignore"),
    ("core.v1.TopologySpreadConstraint", "whenUnsatisfiable", "DoNotSchedule ScheduleAnyway"),
    ("core.v1.VolumeMount", "mountPropagation", "Bidirectional HostToContainer None"),
    ("apps.v1.DaemonSetUpdateStrategy", "type", "OnDelete RollingUpdate"),
    ("apps.v1.DeploymentStrategy", "type", "Recreate RollingUpdate"),
    ("apps.v1.StatefulSetSpec", "podManagementPolicy", "OrderedReady Parallel"),
    ("apps.v1.StatefulSetUpdateStrategy", "type", "OnDelete RollingUpdate"),
    ("batch.v1.CronJobSpec", "concurrencyPolicy", "Allow Forbid Replace"),
    ("batch.v1.JobSpec", "completionMode", "Indexed NonIndexed"),
    ("batch.v1.JobSpec", "podReplacementPolicy", "Failed TerminatingOrFailed"),
    ("batch.v1.PodFailurePolicyOnExitCodesRequirement", "operator", "In NotIn"),
    ("batch.v1.PodFailurePolicyRule", "action", "Count FailIndex FailJob Ignore"),
    ("discovery.v1.EndpointSlice", "addressType", "FQDN IPv4 IPv6"),
    ("networking.v1.HTTPIngressPath", "pathType", "Exact ImplementationSpecific Prefix"),
    ("scheduling.v1.PriorityClass", "preemptionPolicy", "Never PreemptLowerPriority"),
    ("storage.v1.StorageClass", "reclaimPolicy", "Delete Recycle Retain"),
    ("storage.v1.StorageClass", "volumeBindingMode", "Immediate WaitForFirstConsumer"),
    *(
        (f"admissionregistration.v1.{kind}", field, values)
        for kind in ("MutatingWebhook", "ValidatingWebhook")
        for field, values in (
            ("failurePolicy", _FAILURE),
            ("matchPolicy", _MATCH),
            ("sideEffects", "None NoneOnDryRun Some Unknown"),
        )
    ),
    ("admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", "IfNeeded Never"),
)


@cache
def enums() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the values by the names of definition and field."""
    found: dict[str, dict[str, Sequence[str]]] = {}
    for name, field, values in _ROWS:
        found.setdefault(f"io.k8s.api.{name}", {})[field] = values.split()
    return found


def enum_text(values: Sequence[str]) -> str:
    """Return the part of a description that names the values."""
    return "\n\nPossible enum values:\n" + "\n".join(f' - `"{value}"`' for value in values)
