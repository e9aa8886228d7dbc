"""Names of OpenKruise's objects, checked as its webhooks check them. Pure.

Upstream: ``validateBroadcastJobName``, ``validateAdvancedCronJobName`` and ``validateSidecarSetName`` of
``pkg/webhook``.
"""

from __future__ import annotations

import re

from podling.machinery import fields
from podling.machinery.fields import FieldError, Path

_NAME = re.compile(r"[a-zA-Z0-9\-]+")
_LENGTH_MAX = 63


def name_errors(name: str, kind: str) -> list[FieldError]:
    """Return what is wrong with an object's name. ``kind`` is the kind as messages write it."""
    where, found = Path("metadata").child("name"), []
    if not _NAME.fullmatch(name):
        text = (
            f"{kind} name must consist of alphanumeric characters or '-' (e.g. 'example-com', "
            "regex used for validation is '^[a-zA-Z0-9\\-]+$')"
        )
        found.append(fields.invalid(where, name, text))
    if len(name) > _LENGTH_MAX:
        found.append(fields.invalid(where, name, f"must be no more than {_LENGTH_MAX} characters"))
    return found
