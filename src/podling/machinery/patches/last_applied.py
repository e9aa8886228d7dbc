"""From ``kubectl apply`` to ``kubectl apply --server-side``: the fields in the annotation. Pure.

The client-side apply leaves its configuration in an annotation. A user who changes to server-side apply must
not meet conflicts with their own client-side applies: fields that the annotation and the object share belong
to the same user. Later applies keep the annotation up to date. Only the field manager ``kubectl`` is treated
so; other names are separate managers.

Source of the rules: ``lastappliedmanager.go`` and ``lastappliedupdater.go`` of
``apimachinery/pkg/util/managedfields/internal``.
"""

from __future__ import annotations

import json
from typing import Any

from podling.machinery.encoding.shapes import Shape
from podling.machinery.patches import fieldsets
from podling.machinery.patches.fieldsets import FieldSet, SchemaError
from podling.machinery.patches.typed_values import mistakes

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATIONS_BYTES = 256 * 1024
_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that Go's encoder escapes beside JSON's own."""


def applied_before(live: Any, shape: Shape, api_version: str) -> FieldSet | None:
    """The fields of the annotation that ``live`` still has as it says; None without a readable annotation."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return None
    try:
        said = json.loads(text)
    except ValueError:
        return None
    if not isinstance(said, dict) or said.get("apiVersion") != api_version or mistakes(said, shape):
        return None
    try:
        comparison = fieldsets.compare(said, live, shape)
        fields = fieldsets.fields_in(said, shape)
    except SchemaError:
        return None
    return fields - comparison.modified - comparison.added - comparison.removed


def kept_up(plain: Any, intent: Any) -> Any:
    """``plain`` with its annotation, if it has one, saying ``intent``."""
    annotations = _annotations(plain)
    if not annotations.get(ANNOTATION):
        return plain
    said = {**intent, "metadata": {**intent["metadata"]}} if intent.get("metadata") else intent
    if _annotations(said):
        others = {name: text for name, text in _annotations(said).items() if name != ANNOTATION}
        said["metadata"]["annotations"] = others
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).translate(_UNSAFE)
    changed = {**annotations, ANNOTATION: text + "\n"}
    if (
        sum(len(name.encode()) + len(value.encode()) for name, value in changed.items())
        > MAX_ANNOTATIONS_BYTES
    ):
        del changed[ANNOTATION]
    return {**plain, "metadata": {**plain["metadata"], "annotations": changed}}


def _annotations(plain: Any) -> dict[str, str]:
    return (plain.get("metadata") or {}).get("annotations") or {}
