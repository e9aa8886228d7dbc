"""Annotations that SidecarSets give to pods. Pure.

Upstream: ``PatchPodMetadata`` of ``pkg/control/sidecarcontrol``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from podling_kruise.sidecarset.types import MERGE_JSON, OVERWRITE, PatchPodMetadata


class NotJson(Exception):
    """An annotation that is to be merged as JSON, but is none."""


def patched_annotations(annotations: dict[str, str], patches: Iterable[PatchPodMetadata]) -> dict[str, str]:
    """Return the annotations after all patches. Raises ``NotJson``."""
    made = dict(annotations)
    for patch in patches:
        for key, value in patch.annotations.items():
            if patch.patch_policy == OVERWRITE:
                made[key] = value
            elif patch.patch_policy == MERGE_JSON:
                made[key] = _merged_text(key, made.get(key, ""), value)
            else:
                made.setdefault(key, value)
    return made


def _merged_text(key: str, old: str, patch: str) -> str:
    if not old:
        return patch
    try:
        merged = _merged(msgspec.json.decode(old), msgspec.json.decode(patch))
    except msgspec.DecodeError as error:
        raise NotJson(f"annotation {key} cannot be merged: {error}") from error
    return msgspec.json.encode(merged, order="deterministic").decode()


def _merged(old: Any, patch: Any) -> Any:
    """Return ``old`` after a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    made = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = _merged(made.get(key), value)
    return made
