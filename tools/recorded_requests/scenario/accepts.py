"""Media types in requests."""

from __future__ import annotations

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"

ACCEPTS = {
    "any": "*/*",
    "protobuf": PROTOBUF,
    "protobuf or json": f"{PROTOBUF},application/json",
    "yaml": "application/yaml",
    "cbor": "application/cbor",
    "table": TABLE,
    "table v1beta1": "application/json;as=Table;g=meta.k8s.io;v=v1beta1",
    "table v9": "application/json;as=Table;g=meta.k8s.io;v=v9",
    "table in protobuf": f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1",
    "partial": PARTIAL,
    "partial v1beta1": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
    "partial in protobuf": f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "partial list": PARTIAL_LIST,
    "partial list in protobuf": f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "html": "text/html",
    "unknown": "application/x-unknown",
    "unknown or table": f"application/x-unknown, {TABLE};q=0.5",
    "malformed": ";;,=",
}
"""Values of the Accept header, by name."""

LIST_ACCEPTS = ("protobuf", "yaml", "table", "table v1beta1", "partial", "partial list", "unknown")
WATCH_ACCEPTS = ("protobuf", "table", "partial", "yaml")
