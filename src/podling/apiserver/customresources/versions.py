"""The order of versions, preferred first: ``v2``, ``v1``, ``v2beta1``, ``v1alpha3``, then all other names.

Source: apimachinery ``pkg/version/helpers.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from podling.machinery.resource import Resource

_VERSION = re.compile(r"^v(\d+)(?:(alpha|beta)(\d+))?$").match
_STAGES = {None: 0, "beta": 1, "alpha": 2}


def priority(name: str) -> tuple[int, int, int, str]:
    """Return a sorting key: the most preferred version comes first."""
    match = _VERSION(name)
    if match is None:
        return 3, 0, 0, name
    major, stage, minor = match.groups()
    return _STAGES[stage], -int(major), -int(minor or 0), name


def groups_of(resources: Iterable[Resource]) -> dict[str, tuple[str, ...]]:
    """Return the versions of each group, the preferred one first."""
    found: dict[str, set[str]] = {}
    for resource in resources:
        found.setdefault(resource.group, set()).add(resource.version)
    return {group: tuple(sorted(versions, key=priority)) for group, versions in found.items()}
