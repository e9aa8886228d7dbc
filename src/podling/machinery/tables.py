"""Tables as ``kubectl get`` prints them: ``meta.k8s.io`` Table, and the ages in its cells.

The server decides what a kind's columns are and what a row says; the client only aligns. What is sent is made
by ``apiserver.http.representations``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from podling.machinery import fields
from podling.machinery.errors import bad_request

GROUP = "meta.k8s.io"
UNKNOWN = "<unknown>"
NONE = "<none>"


class Column(Struct, frozen=True):
    """One column. Priority 0 is always shown, higher ones only in the wide output."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAME = Column("Name", format="name", description="Name must be unique within a namespace.")
AGE = Column("Age", description="How long ago the object was created.")
DEFAULT_COLUMNS = (NAME, AGE)
"""The columns of kinds that declare none."""


def default_cells(obj: Any, now: datetime) -> tuple[str, ...]:
    """Return the cells of ``DEFAULT_COLUMNS``."""
    return obj.metadata.name or "", translate_timestamp_since(obj.metadata.creation_timestamp, now)


def check_include_object(text: str) -> str:
    """Return the ``includeObject`` parameter, with its default. Raises ``ApiError`` 400."""
    if text not in ("", "None", "Metadata", "Object"):
        why = "must be 'Metadata', 'Object', 'None', or empty"
        wrong = fields.invalid(fields.Path("includeObject"), text, why)
        raise bad_request(f"Unable to convert to Table as requested: {wrong}")
    return text or "Metadata"


def translate_timestamp_since(then: datetime | None, now: datetime) -> str:
    """Return the time since ``then`` as the AGE column shows it; ``<unknown>`` for None."""
    return UNKNOWN if then is None else human_duration(now - then)


def human_duration(duration: timedelta) -> str:
    """Two units at most, fewer the longer it is: ``5m12s``, ``3h``, ``12d``, ``2y40d``.

    Source: apimachinery ``pkg/util/duration``. Up to two seconds in the future count as now, since
    clocks of machines differ a little; beyond that it is ``<invalid>``.
    """
    seconds = int(duration / timedelta(seconds=1))
    if seconds < -1:
        return "<invalid>"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{max(0, seconds)}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
