"""Conversion of PodUnavailableBudgets between ``v1alpha1`` and ``v1beta1``. Pure.

The older version has two fields as annotations. Upstream: ``podunavailablebudget_conversion.go``.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.machinery.encoding.custom import CustomObject
from podling.machinery.numbers import INT32_MAX
from podling_kruise.names import POLICY_GROUP, PROTECT_OPERATIONS, PROTECT_TOTAL_REPLICAS
from podling_kruise.podunavailablebudget.definition import OPERATIONS

BETA = f"{POLICY_GROUP}/v1beta1"
_OWN = ("protectOperations", "protectTotalReplicas", "ignoredPodSelector")
"""Fields that only the newer version has."""


def convert(obj: CustomObject, version: str) -> CustomObject:
    """Return a budget as an object of ``version``. Raises ``ValueError`` for unreadable annotations."""
    return _newer(obj) if version == BETA else _older(obj)


def _newer(obj: CustomObject) -> CustomObject:
    spec: dict[str, Any] = dict(obj.content.get("spec") or {})
    annotations = obj.metadata.annotations
    operations = operations_of(annotations.get(PROTECT_OPERATIONS, ""))
    if operations:
        spec["protectOperations"] = list(operations)
    if text := annotations.get(PROTECT_TOTAL_REPLICAS, ""):
        spec["protectTotalReplicas"] = total_of(text)
    return structs.replace(obj, content={**obj.content, "spec": spec})


def _older(obj: CustomObject) -> CustomObject:
    spec: dict[str, Any] = dict(obj.content.get("spec") or {})
    annotations = {
        key: text
        for key, text in obj.metadata.annotations.items()
        if key not in (PROTECT_OPERATIONS, PROTECT_TOTAL_REPLICAS)
    }
    if operations := spec.get("protectOperations"):
        annotations[PROTECT_OPERATIONS] = ",".join(operations)
    if (total := spec.get("protectTotalReplicas")) is not None:
        annotations[PROTECT_TOTAL_REPLICAS] = str(total)
    left = {key: value for key, value in spec.items() if key not in _OWN}
    metadata = structs.replace(obj.metadata, annotations=annotations)
    return structs.replace(obj, metadata=metadata, content={**obj.content, "spec": left})


def operations_of(text: str) -> tuple[str, ...]:
    """Return the operations that an annotation lists. Raises ``ValueError`` for an unknown one."""
    found = tuple(part for each in text.split(",") if (part := each.strip()))
    for each in found:
        if each not in OPERATIONS:
            raise ValueError(f'invalid {PROTECT_OPERATIONS} value "{each}"')
    return found


def total_of(text: str) -> int:
    """Return the number of an annotation. Raises ``ValueError``."""
    try:
        number = int(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        number = None
    if number is None or not -INT32_MAX - 1 <= number <= INT32_MAX:
        raise ValueError(f'failed to parse {PROTECT_TOTAL_REPLICAS}: "{text}" is no int32')
    return number
