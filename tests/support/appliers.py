"""Several field managers of one object: their applied configurations, and the resulting ownership."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from podling.api import apps_v1
from podling.machinery.encoding.plain import copied
from podling.machinery.patches import fieldsets
from podling.machinery.patches.apply import apply
from podling.machinery.patches.managed_entries import Writer

NOW = datetime(2020, 1, 1, tzinfo=UTC)


def writer(name: str, minutes: int = 0, **rest: Any) -> Writer:
    return Writer(name, NOW + timedelta(minutes=minutes), "apps/v1", **rest)


def deployment(replicas: int | None = None, **spec: Any) -> dict[str, Any]:
    said = {**({"replicas": replicas} if replicas is not None else {}), **spec}
    metadata = {"name": "web", "namespace": "default"}
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return {**obj, "spec": said} if said else obj


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"spec": {"containers": list(items)}}}


def applied(live: Any, intent: Any, who: str, *, force: bool = False, minutes: int = 0) -> Any:
    before = copied([live, intent])
    result = apply(live, intent, apps_v1.Deployment, writer(who, minutes), force=force)
    assert [live, intent] == before
    return result


def owned(obj: Any) -> dict[str, list[str]]:
    """Return the owners of fields, as messages name them."""
    return {
        f"{entry['manager']} {entry['operation']}": sorted(
            fieldsets.text_of(path) for path in fieldsets.decode(entry["fieldsV1"])
        )
        for entry in obj["metadata"].get("managedFields", ())
    }
