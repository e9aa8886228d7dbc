"""The downward API: fields of a pod, and resources of its containers, as text.

Serves environment variables and volume files. A field without a value is empty. An unset limit is the
pod's, or the node's allocatable amount. Amounts are divided by the divisor and rounded up
(``pkg/fieldpath``, ``pkg/api/v1/resource``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from podling.api.core_v1 import Container, Pod, ResourceFieldSelector
from podling.machinery.quantity import milli_value, value

_SUBSCRIPT = re.compile(r"(metadata\.(?:labels|annotations))\['(.*)'\]", re.DOTALL)


class UnsupportedField(Exception):
    """The downward API does not support the field path."""


def field_value(pod: Pod, path: str, *, host_ips: tuple[str, ...] = (), pod_ips: tuple[str, ...] = ()) -> str:
    """Return the text of ``path``. The addresses are separate arguments: the status may not have them yet.

    Raises ``UnsupportedField``.
    """
    if (one := label_or_annotation(pod, path)) is not None:
        return one
    metadata = pod.metadata
    plain: dict[str, str | None] = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": host_ips[0] if host_ips else "",
        "status.hostIPs": ",".join(host_ips),
        "status.podIP": pod_ips[0] if pod_ips else "",
        "status.podIPs": ",".join(pod_ips),
    }
    if path == "metadata.labels":
        return format_map(metadata.labels)
    if path == "metadata.annotations":
        return format_map(metadata.annotations)
    if path not in plain:
        raise UnsupportedField(f"unsupported fieldPath: {path}")
    return plain[path] or ""


def label_or_annotation(pod: Pod, path: str) -> str | None:
    """Return the label or annotation that ``path`` names, empty without it; None for other paths."""
    match = _SUBSCRIPT.fullmatch(path)
    if match is None:
        return None
    held = pod.metadata.labels if match[1] == "metadata.labels" else pod.metadata.annotations
    return held.get(match[2], "")


def format_map(values: Mapping[str, str]) -> str:
    """Return ``key="value"`` lines, sorted by key, values quoted as Go quotes them."""
    return "\n".join(f"{key}={json.dumps(values[key], ensure_ascii=False)}" for key in sorted(values))


DEFAULTED_LIMITS = ("cpu", "memory", "ephemeral-storage")
"""The resources with a default of their limits (``MergeContainerResourceLimits``)."""


def resource_value(
    pod: Pod, container: Container, selector: ResourceFieldSelector, allocatable: Mapping[str, str]
) -> str:
    """Return the amount that ``selector`` names in ``container``. Raises ``UnsupportedField``."""
    kind, _, resource = selector.resource.partition(".")
    if kind not in ("limits", "requests") or not resource:
        raise UnsupportedField(f"unsupported container resource : {selector.resource}")
    resources = container.resources
    amount = (resources.limits if kind == "limits" else resources.requests).get(resource)
    if kind == "limits" and resource in DEFAULTED_LIMITS and _is_zero(amount):
        whole = pod.spec.resources.limits.get(resource) if pod.spec.resources is not None else None
        amount = allocatable.get(resource) if _is_zero(whole) else whole
    amount = amount or "0"
    divisor = selector.divisor or "1"
    if milli_value(divisor) == 0:
        divisor = "1"
    if resource == "cpu":
        return str(_divide_up(milli_value(amount), milli_value(divisor)))
    return str(_divide_up(value(amount), value(divisor)))


def _is_zero(amount: str | None) -> bool:
    return amount is None or milli_value(amount) == 0


def _divide_up(amount: int, divisor: int) -> int:
    return -(-amount // divisor)
