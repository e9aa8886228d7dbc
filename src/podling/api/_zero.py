"""Zero values of required fields, as factories.

msgspec leaves out a field that *is* its default; Kubernetes always writes a required list or map,
even an empty one (``"items": []``). A factory that msgspec does not recognise keeps it written.
"""

from __future__ import annotations

from typing import Any


def empty_list() -> tuple[Any, ...]:
    """An empty list that is still encoded."""
    return ()


def empty_map() -> dict[str, Any]:
    """An empty map that is still encoded."""
    return {}
