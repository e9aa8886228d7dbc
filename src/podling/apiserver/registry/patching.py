"""Patches: from a stored object and a patch to the object that the writer wants.

The four kinds of patches work on plain data; the result is decoded as a manifest would be, so unknown fields
are found by the same check.
"""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import replace

from podling.apiserver.kinds.common.base import View
from podling.apiserver.kinds.common.metadata import OTHER_NAMESPACE
from podling.apiserver.registry.managed_fields import applied, check_typed
from podling.client.base import PatchType
from podling.client.requests import Patch, Target, WriteOptions
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import is_custom
from podling.machinery.encoding.plain import json_type
from podling.machinery.encoding.shapes import attributes_of
from podling.machinery.scheme import Resource


def patched(old: Any | None, wanted: Patch, target: Target, options: WriteOptions, now: datetime) -> Any:
    """The object that ``wanted`` makes of ``old``; only a server-side apply may make one from nothing."""
    if wanted.type is PatchType.APPLY:
        return applied(old, _named(wanted, target, old), target, options, now)
    return apply_patch(old, wanted, target.resource.type, options)


def _named(wanted: Patch, target: Target, old: Any | None) -> Patch:
    """Return the intent with the name that the URL has. Raises 400 when it says another, or is none."""
    intent = _intent(wanted)
    metadata = intent.get("metadata") or {}
    if not isinstance(metadata, dict):
        return wanted  # reading it as an object says what is wrong
    _check_kind(intent, target.resource.group_version, target.resource.kind)
    check_place(metadata.get("name"), metadata.get("namespace"), target)
    if old is None and metadata.get("uid"):
        text = (
            f"uid mismatch: the provided object specified uid {metadata['uid']}, "
            "and no existing object was found"
        )
        raise errors.conflict(target.resource.plural, target.resource.group, target.name, text)
    place = {"namespace": target.namespace} if target.namespace else {}
    return replace(wanted, body={**intent, "metadata": {**metadata, "name": target.name, **place}})


def _intent(wanted: Patch) -> dict[str, Any]:
    """Return the applied configuration; an empty body is an empty object. Raises 400 for other values."""
    intent = {} if wanted.body is None else wanted.body
    if not isinstance(intent, dict):
        raise errors.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_type(intent)} into Go value of type map[string]interface {{}}"
        )
    return intent


def _check_kind(intent: dict[str, Any], group_version: str, kind: str) -> None:
    """400 when an intent does not say of itself what it is applied to."""
    said = intent.get("apiVersion") or "", intent.get("kind") or ""
    if said != (group_version, kind):
        group, _, version = str(said[0]).rpartition("/")
        raise errors.bad_request(f"invalid object type: {group}/{version}, Kind={said[1]}")


def applied_to_view(wanted: Patch, view: View, resource: Resource, now: datetime) -> Patch:
    """An intent for a view (``scale``) as one for the object behind it. Raises 400 for no such body."""
    group, version, kind = view.body.group_version_kind
    said = _intent(wanted)
    _check_kind(said, f"{group}/{version}", kind)
    check_typed(said, view.body, f"{group}/{version}", now)
    codec.convert(said, view.body, "Ignore")
    replicas = (said.get("spec") or {}).get("replicas")
    intent: dict[str, Any] = {}
    if replicas is not None:
        intent = reduce(lambda inner, name: {name: inner}, reversed(view.replicas_path), replicas)
    metadata = said.get("metadata") or {}
    head = {name: metadata[name] for name in ("name", "namespace", "resourceVersion") if metadata.get(name)}
    intent |= {"apiVersion": resource.group_version, "kind": resource.kind, "metadata": head}
    return replace(wanted, body=intent)


def check_named(name: str | None, target: Target) -> None:
    """400 when what is put in the place of an object does not say its name."""
    if not name:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )


def check_place(name: str | None, namespace: str | None, target: Target) -> None:
    """400 when an object says another namespace or name than the URL it is sent to."""
    if namespace and target.namespace and namespace != target.namespace:
        raise errors.bad_request(OTHER_NAMESPACE)
    if name and name != target.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )


def _of_kind(result: Any, old: dict[str, Any]) -> Any:
    """Give the result of a strategic merge patch the kind and version of the patched object.

    Kubernetes decodes the result into the object's Go type and ignores the kind in the patch. So the scale of
    a Deployment may be patched with a Deployment (apiserver ``smpPatcher``).
    """
    if not isinstance(result, dict):
        return result
    said = {name: old[name] for name in ("apiVersion", "kind") if isinstance(result.get(name), str)}
    return {**result, **said}


def _patched_fields(old: Any, wanted: Patch, kind: type[Any], options: WriteOptions) -> Any | None:
    """Return ``old`` after a patch of some of its fields, and read those alone again.

    Return None where the whole object has to be read: for other patches, and to say what is wrong.
    """
    from podling.machinery.patches import patch

    body, names = wanted.body, attributes_of(kind)
    if wanted.duplicates or type(body) is not dict or type(old) is not kind:
        return None
    document: dict[str, Any] = {}
    for name, value in body.items():
        present = getattr(old, names.get(name, ""), None)
        if isinstance(present, Struct):
            document[name] = codec.to_plain(present)
        elif name not in ("apiVersion", "kind") or value != present:
            return None
    try:
        if wanted.type is PatchType.MERGE:
            result = patch.merge_patch(document, body, fresh=True)
        else:
            result = patch.strategic_merge_patch(document, body, kind, fresh=True)
        read, warnings = patch.patched_object(result, kind, options.field_validation)
    except errors.ApiError:
        return None
    if warnings:
        return None
    return structs.replace(old, **{names[name]: getattr(read, names[name]) for name in body})


def apply_patch(old: Any, wanted: Patch, kind: type[Any], options: WriteOptions) -> Any:
    """Return ``old`` after a patch of any other type. Raises 400 or 422 for one that cannot be applied."""
    from podling.machinery.patches import patch  # loaded with the first patch: a start needs none

    if wanted.type in (PatchType.MERGE, PatchType.STRATEGIC) and not is_custom(kind):
        changed = _patched_fields(old, wanted, kind, options)
        if changed is not None:
            return changed
    plain, strategic = codec.to_plain(old), None
    if wanted.type is PatchType.STRATEGIC and is_custom(kind):
        accepted = [each.value for each in PatchType if each is not PatchType.STRATEGIC]
        raise errors.unsupported_media_type(accepted)
    looked_at = options.field_validation != "Ignore"
    if looked_at and wanted.type in (PatchType.JSON, PatchType.MERGE):
        patch.check_decodes(wanted.body, "array" if wanted.type is PatchType.JSON else "object")
    duplicates = wanted.duplicates
    if wanted.type is PatchType.JSON:
        duplicates = patch.strict_reports(wanted.body, wanted.duplicates)
        result = patch.json_patch(plain, wanted.body, fresh=True)
    elif wanted.type is PatchType.MERGE:
        result = patch.merge_patch(plain, wanted.body, fresh=True)
    elif wanted.type is PatchType.STRATEGIC:
        result = _of_kind(patch.strategic_merge_patch(plain, wanted.body, kind, fresh=True), plain)
        strategic = wanted.body
    else:
        raise errors.unsupported_media_type([each.value for each in PatchType if each is not PatchType.APPLY])
    body = codec.Body(result, duplicates)
    obj, warnings = patch.patched_object(body, kind, options.field_validation, strategic)
    options.warnings.extend(warnings)
    return obj
