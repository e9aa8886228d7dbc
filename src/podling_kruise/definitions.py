"""CustomResourceDefinitions of OpenKruise's kinds, put together from their own parts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.machinery.encoding import codec
from podling_kruise.names import GROUP
from podling_kruise.schemas import TEXT, Schema, described, record

STATUS: Schema = {"status": {}}
STATUS_AND_SCALE: Schema = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    },
}
"""Subresources."""


def definition_of(
    kind: str,
    versions: Sequence[Schema],
    *,
    group: str = GROUP,
    scope: str = "Namespaced",
    short_names: Sequence[str] = (),
) -> CustomResourceDefinition:
    """Return the definition of a kind of OpenKruise, with the versions of ``version_of``."""
    singular = kind.lower()
    names = {"plural": f"{singular}s", "singular": singular, "kind": kind, "listKind": f"{kind}List"}
    plain = {
        "metadata": {"name": f"{singular}s.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {**names, "shortNames": list(short_names)},
            "versions": list(versions),
        },
    }
    return codec.convert(plain, CustomResourceDefinition, "Strict")[0]


def version_of(
    name: str,
    text: str,
    spec: Schema,
    status: Schema,
    columns: Sequence[dict[str, Any]],
    *,
    storage: bool,
    subresources: Schema = STATUS,
) -> Schema:
    """Return a served version; ``text`` describes its objects, ``columns`` are those of their table."""
    schema = record(apiVersion=TEXT, kind=TEXT, metadata={"type": "object"}, spec=spec, status=status)
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": described(schema, text)},
        "subresources": subresources,
        "additionalPrinterColumns": list(columns),
    }
