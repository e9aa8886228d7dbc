"""Types that OpenKruise's workloads share: lifecycle hooks, priorities, and the record of an in-place update.

Upstream: ``apis/apps/pub``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from podling.api.meta_v1 import LabelSelector


class LifecycleHook(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    labels_handler: dict[str, str] = {}
    finalizers_handler: tuple[str, ...] = ()
    mark_pod_not_ready: bool = False


class Lifecycle(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pre_delete: LifecycleHook | None = None
    in_place_update: LifecycleHook | None = None
    pre_normal: LifecycleHook | None = None


class InPlaceUpdateStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    grace_period_seconds: int = 0
    image_pre_download_parallelism: int | str | None = None
    image_pre_download_timeout_seconds: int | None = None
    image_pre_download_min_updated_ready_pods: int | None = None


class OrderTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    ordered_key: str = ""


class WeightTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    weight: int = 0
    match_selector: LabelSelector = LabelSelector()


class PriorityStrategy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One of both: the order by a label's number, or the sum of the weights of matching selectors."""

    order_priority: tuple[OrderTerm, ...] = ()
    weight_priority: tuple[WeightTerm, ...] = ()


class ScatterTerm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    key: str = ""
    value: str = ""


class MetadataPart(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The labels and annotations that a container reads."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Resources(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The changed requests and limits of a container."""

    limits: dict[str, str] = {}
    requests: dict[str, str] = {}


def plain_template(data: Any) -> dict[str, Any]:
    """Return the template in the data of a revision; empty where there is none."""
    spec = data.get("spec") if isinstance(data, dict) else None
    template = spec.get("template") if isinstance(spec, dict) else None
    return template if isinstance(template, dict) else {}
