"""ComponentStatuses: the health of the control plane's components. They are computed, not stored.

Upstream: ``pkg/registry/core/componentstatus``, ``printComponentStatus``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import ComponentCondition, ComponentStatus
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.kinds.common.base import KindRules
from podling.apiserver.kinds.common.cells import NAME
from podling.machinery.tables import Column

HEALTHY = "Healthy"


class ComponentStatusRules(KindRules[ComponentStatus]):
    deprecation = "v1 ComponentStatus is deprecated in v1.19+"
    columns = (
        NAME,
        Column("Status", description="Status of the component conditions"),
        Column("Message", description="Message of the component conditions"),
        Column("Error", description="Error of the component conditions"),
    )

    def row(self, obj: ComponentStatus, now: datetime) -> Sequence[Any]:
        found = next((each for each in obj.conditions if each.type == HEALTHY), None)
        if found is None:
            return obj.metadata.name, "Unknown", "", ""
        shown = HEALTHY if found.status == "True" else "Unhealthy"
        return obj.metadata.name, shown, found.message or "", found.error or ""


def component_statuses(checks: Mapping[str, Callable[[], str]]) -> tuple[ComponentStatus, ...]:
    """Return the status of each component. ``checks`` return an empty text for health, else the error."""
    return tuple(_status(name, check()) for name, check in checks.items())


def _status(name: str, error: str) -> ComponentStatus:
    healthy = ComponentCondition(type=HEALTHY, status="False" if error else "True", message=error or "ok")
    return ComponentStatus(metadata=ObjectMeta(name=name), conditions=(healthy,))
