"""The definitions of ``snapshot.storage.k8s.io/v1``, as external-snapshotter publishes them. Pure.

Upstream: ``client/config/crd`` of ``kubernetes-csi/external-snapshotter``. What is still alpha there (groups,
topologies) is left out.
"""

from __future__ import annotations

from typing import Any

GROUP = "snapshot.storage.k8s.io"
Schema = dict[str, Any]

_APPROVED = {"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter/pull/955"}
_POLICY: Schema = {
    "type": "string",
    "enum": ["Delete", "Retain"],
    "description": "What becomes of the content, and of what is stored, when the snapshot is deleted.",
}
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_TEXT: Schema = {"type": "string"}
_INTEGER: Schema = {"type": "integer", "format": "int64"}
_ERROR: Schema = {
    "type": "object",
    "description": "The last error; it is cleared on success.",
    "properties": {"message": _TEXT, "time": {"type": "string", "format": "date-time"}},
}
_READY: Schema = {"type": "boolean", "description": "Whether volumes can be made from the snapshot."}


def _fixed(name: str) -> Schema:
    """Return a text that cannot change."""
    return {
        "type": "string",
        "x-kubernetes-validations": [{"message": f"{name} is immutable", "rule": "self == oldSelf"}],
    }


def _kept(*names: str) -> list[dict[str, str]]:
    """Return the rules by which fields that are set stay."""
    return [
        {"message": f"{name} is required once set", "rule": f"!has(oldSelf.{name}) || has(self.{name})"}
        for name in names
    ]


def _record(properties: Schema, *required: str, **more: Any) -> Schema:
    found: Schema = {"type": "object", "properties": properties, **more}
    return {**found, "required": list(required)} if required else found


def _column(name: str, kind: str, path: str) -> dict[str, str]:
    return {"name": name, "type": kind, "jsonPath": path}


_AGE = _column("Age", "date", ".metadata.creationTimestamp")
_CLAIM, _CONTENT = "persistentVolumeClaimName", "volumeSnapshotContentName"

_SNAPSHOT = _record(
    {
        "spec": _record(
            {
                "source": _record(
                    {
                        _CLAIM: _fixed(_CLAIM),
                        _CONTENT: _fixed(_CONTENT),
                    },
                    oneOf=[{"required": [_CLAIM]}, {"required": [_CONTENT]}],
                    **{"x-kubernetes-validations": _kept(_CLAIM, _CONTENT)},
                ),
                "volumeSnapshotClassName": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {
                            "message": "volumeSnapshotClassName must not be the empty string when set",
                            "rule": "size(self) > 0",
                        }
                    ],
                },
            },
            "source",
        ),
        "status": _record(
            {
                "boundVolumeSnapshotContentName": _TEXT,
                "creationTime": {"type": "string", "format": "date-time"},
                "error": _ERROR,
                "readyToUse": _READY,
                "restoreSize": {
                    "description": "The least size of a volume that is made from the snapshot.",
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": _QUANTITY,
                    "x-kubernetes-int-or-string": True,
                },
            }
        ),
    },
    "spec",
)

_REFERENCE = _record(
    dict.fromkeys(("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"), _TEXT),
    **{
        "x-kubernetes-map-type": "atomic",
        "x-kubernetes-validations": [
            {
                "message": "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace "
                "must be set",
                "rule": "has(self.name) && has(self.__namespace__)",
            }
        ],
    },
)

_SNAPSHOT_CONTENT = _record(
    {
        "spec": _record(
            {
                "deletionPolicy": _POLICY,
                "driver": _TEXT,
                "source": _record(
                    {
                        "snapshotHandle": _fixed("snapshotHandle"),
                        "volumeHandle": _fixed("volumeHandle"),
                    },
                    oneOf=[{"required": ["snapshotHandle"]}, {"required": ["volumeHandle"]}],
                    **{"x-kubernetes-validations": _kept("volumeHandle", "snapshotHandle")},
                ),
                "sourceVolumeMode": _fixed("sourceVolumeMode"),
                "volumeSnapshotClassName": _TEXT,
                "volumeSnapshotRef": _REFERENCE,
            },
            "deletionPolicy",
            "driver",
            "source",
            "volumeSnapshotRef",
            **{"x-kubernetes-validations": _kept("sourceVolumeMode")},
        ),
        "status": _record(
            {
                "creationTime": {**_INTEGER, "description": "Nanoseconds since 1970."},
                "error": _ERROR,
                "readyToUse": _READY,
                "restoreSize": {**_INTEGER, "minimum": 0},
                "snapshotHandle": _TEXT,
            }
        ),
    },
    "spec",
)

_SNAPSHOT_CLASS = _record(
    {
        "deletionPolicy": _POLICY,
        "driver": {**_TEXT, "description": "The driver that takes snapshots of the class."},
        "parameters": {"type": "object", "additionalProperties": _TEXT},
    },
    "deletionPolicy",
    "driver",
)


def _definition(
    kind: str,
    plural: str,
    short: list[str],
    scope: str,
    schema: Schema,
    *columns: dict[str, str],
    status: bool,
) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [*columns, _AGE],
        **({"subresources": {"status": {}}} if status else {}),
    }
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "shortNames": short,
    }
    spec = {"group": GROUP, "scope": scope, "names": names, "versions": [version]}
    return {"metadata": {"name": f"{plural}.{GROUP}", "annotations": _APPROVED}, "spec": spec}


SNAPSHOTS = _definition(
    "VolumeSnapshot",
    "volumesnapshots",
    ["vs"],
    "Namespaced",
    _SNAPSHOT,
    _column("ReadyToUse", "boolean", ".status.readyToUse"),
    _column("SourcePVC", "string", f".spec.source.{_CLAIM}"),
    _column("SourceSnapshotContent", "string", f".spec.source.{_CONTENT}"),
    _column("RestoreSize", "string", ".status.restoreSize"),
    _column("SnapshotClass", "string", ".spec.volumeSnapshotClassName"),
    _column("SnapshotContent", "string", ".status.boundVolumeSnapshotContentName"),
    _column("CreationTime", "date", ".status.creationTime"),
    status=True,
)
CONTENTS = _definition(
    "VolumeSnapshotContent",
    "volumesnapshotcontents",
    ["vsc", "vscs"],
    "Cluster",
    _SNAPSHOT_CONTENT,
    _column("ReadyToUse", "boolean", ".status.readyToUse"),
    _column("RestoreSize", "integer", ".status.restoreSize"),
    _column("DeletionPolicy", "string", ".spec.deletionPolicy"),
    _column("Driver", "string", ".spec.driver"),
    _column("VolumeSnapshotClass", "string", ".spec.volumeSnapshotClassName"),
    _column("VolumeSnapshot", "string", ".spec.volumeSnapshotRef.name"),
    _column("VolumeSnapshotNamespace", "string", ".spec.volumeSnapshotRef.namespace"),
    status=True,
)
CLASSES = _definition(
    "VolumeSnapshotClass",
    "volumesnapshotclasses",
    ["vsclass", "vsclasses"],
    "Cluster",
    _SNAPSHOT_CLASS,
    _column("Driver", "string", ".driver"),
    _column("DeletionPolicy", "string", ".deletionPolicy"),
    status=False,
)
