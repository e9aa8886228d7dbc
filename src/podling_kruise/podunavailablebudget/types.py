"""PodUnavailableBudgets as structs, in the version that is stored. Upstream: ``apis/policy/v1beta1``."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec
from msgspec import Struct

from podling.api.meta_v1 import LabelSelector
from podling.client.typed_kinds import TypedObject, defined_resource
from podling.machinery.encoding.custom import CustomResource
from podling_kruise.podunavailablebudget.definition import definition

DELETE, UPDATE, EVICT, RESIZE = "DELETE", "UPDATE", "EVICT", "RESIZE"
DEFAULT_OPERATIONS = (DELETE, UPDATE, EVICT)


class TargetReference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""


class PodUnavailableBudgetSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    selector: LabelSelector | None = None
    target_ref: TargetReference | None = None
    max_unavailable: int | str | None = None
    min_available: int | str | None = None
    protect_operations: tuple[str, ...] = ()
    protect_total_replicas: int | None = None
    ignored_pod_selector: LabelSelector | None = None


class PodUnavailableBudgetStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The numbers without a default are always written."""

    observed_generation: int = 0
    disrupted_pods: dict[str, datetime] = {}
    unavailable_pods: dict[str, datetime] = {}
    unavailable_allowed: int = msgspec.field(default_factory=int)
    current_available: int = msgspec.field(default_factory=int)
    desired_available: int = msgspec.field(default_factory=int)
    total_replicas: int = msgspec.field(default_factory=int)


class PodUnavailableBudget(TypedObject, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    custom_resource: ClassVar[CustomResource] = defined_resource(definition())

    spec: PodUnavailableBudgetSpec = msgspec.field(default_factory=lambda: PodUnavailableBudgetSpec())
    status: PodUnavailableBudgetStatus = msgspec.field(default_factory=lambda: PodUnavailableBudgetStatus())
