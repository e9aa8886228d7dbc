"""The CustomResourceDefinition of PodUnavailableBudgets, in both versions. Pure.

Upstream: ``apis/policy/v1alpha1/podunavailablebudget_types.go`` and ``apis/policy/v1beta1``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.names import POLICY_GROUP
from podling_kruise.schemas import (
    INT_OR_STRING,
    SELECTOR,
    TEXT,
    TIME,
    Schema,
    column,
    described,
    items,
    number,
    record,
)

NAME = f"podunavailablebudgets.{POLICY_GROUP}"
OPERATIONS = ("DELETE", "UPDATE", "EVICT", "RESIZE")

_COLUMNS = [
    column(
        "Allowed",
        ".status.unavailableAllowed",
        "UnavailableAllowed number of pod unavailable that are currently allowed",
    ),
    column("Current", ".status.currentAvailable", "CurrentAvailable current number of available pods"),
    column(
        "Desired", ".status.desiredAvailable", "DesiredAvailable minimum desired number of available pods"
    ),
    column("Total", ".status.totalReplicas", "TotalReplicas total number of pods counted by this budget"),
]
_TIMES: Schema = {"type": "object", "additionalProperties": TIME}
_STATUS = record(
    ("currentAvailable", "desiredAvailable", "totalReplicas", "unavailableAllowed"),
    observedGeneration=described(number(64), "The generation that the numbers are of."),
    disruptedPods=described(_TIMES, "Pods whose eviction or deletion was allowed and is not seen yet."),
    unavailablePods=described(_TIMES, "Pods whose update was allowed and is not seen yet."),
    unavailableAllowed=described(number(), "Pods that may become unavailable now."),
    currentAvailable=described(number(), "Available pods."),
    desiredAvailable=described(number(), "Pods that must stay available."),
    totalReplicas=described(number(), "Pods that the budget counts."),
)
_SHARED: dict[str, Schema] = {
    "selector": described(SELECTOR, "Selects the pods."),
    "targetRef": described(record(apiVersion=TEXT, kind=TEXT, name=TEXT), "The workload of the pods."),
    "maxUnavailable": described(INT_OR_STRING, "Pods, as a number or a share, that may be unavailable."),
    "minAvailable": described(INT_OR_STRING, "Pods, as a number or a share, that stay available."),
}
_NEWER: dict[str, Schema] = {
    "protectOperations": described(
        items({"type": "string", "enum": list(OPERATIONS)}),
        "The operations that are protected: DELETE, UPDATE and EVICT without a list.",
    ),
    "protectTotalReplicas": described(
        number(minimum=1), "The number of pods, where no workload has one or can be read."
    ),
    "ignoredPodSelector": described(SELECTOR, "Selects pods that are not protected."),
}


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    text = "Limits the pods that deletions, evictions and updates make unavailable."
    older = version_of("v1alpha1", text, record(**_SHARED), _STATUS, _COLUMNS, storage=False)
    newer = version_of("v1beta1", text, record(**_SHARED, **_NEWER), _STATUS, _COLUMNS, storage=True)
    return definition_of("PodUnavailableBudget", (older, newer), group=POLICY_GROUP, short_names=["pub"])
