"""Transforms of informers: the parts of objects that no reader of the copy needs are not kept. Pure."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace


def without_managed_fields(obj: Any) -> Any:
    """Return ``obj`` without ``managedFields``, often its largest part.

    An update with such an object keeps the record of managers that is stored. Upstream trims it as well, in
    the informers of kube-controller-manager and of the scheduler.
    """
    if not obj.metadata.managed_fields:
        return obj
    return replace(obj, metadata=replace(obj.metadata, managed_fields=()))
