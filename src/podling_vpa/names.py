"""Names of the API, of annotations and of feature gates. Pure.

Upstream: ``apis/autoscaling.k8s.io/v1/types.go``, ``utils/annotations``, ``features/features.go``.
"""

from __future__ import annotations

from collections.abc import Mapping

GROUP, VERSION = "autoscaling.k8s.io", "v1"
KIND, CHECKPOINT_KIND = "VerticalPodAutoscaler", "VerticalPodAutoscalerCheckpoint"
APPROVED = {
    "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797",
}
"""The annotation that upstream's definitions have."""

OFF, INITIAL, RECREATE, AUTO = "Off", "Initial", "Recreate", "Auto"
IN_PLACE_OR_RECREATE, IN_PLACE = "InPlaceOrRecreate", "InPlace"
UPDATE_MODES = (OFF, INITIAL, RECREATE, IN_PLACE_OR_RECREATE, IN_PLACE, AUTO)
REQUESTS_AND_LIMITS, REQUESTS_ONLY = "RequestsAndLimits", "RequestsOnly"
HIGHER, LOWER = "TargetHigherThanRequests", "TargetLowerThanRequests"
EVERY_CONTAINER = "*"
"""The container name of the policy for containers without one of their own."""
DEFAULT_RECOMMENDER = "default"

CPU, MEMORY = "cpu", "memory"
RESOURCES = (CPU, MEMORY)
"""The resources that are recommended."""

UPDATES_ANNOTATION = "vpaUpdates"
"""The annotation of a new pod that says what admission changed."""
OBSERVED_CONTAINERS = "vpaObservedContainers"
"""The annotation of a new pod with the names of its containers at that time."""
IN_PLACE_UPDATED = "vpaInPlaceUpdated"
"""The annotation of a pod that the updater resized."""

PROVIDED, NO_PODS = "RecommendationProvided", "NoPodsMatched"
UNSUPPORTED, DEPRECATED = "ConfigUnsupported", "ConfigDeprecated"
"""Types of conditions."""

PER_VPA_CONFIG, IN_PLACE_GATE, STARTUP_BOOST = "PerVPAConfig", "InPlace", "CPUStartupBoost"
FEATURE_GATES: Mapping[str, bool] = {PER_VPA_CONFIG: False, IN_PLACE_GATE: False}
"""Upstream's feature gates that are honoured, with its defaults. ``CPUStartupBoost`` is not among them."""
