"""Bodies of writes in every media type that is served: JSON, YAML, protobuf."""

from __future__ import annotations

from typing import Any

from podling.machinery import errors
from podling.machinery.encoding import codec, intake, protobuf
from podling.machinery.encoding.bodies import ACCEPTED, JSON
from podling.machinery.encoding.body_limits import VALUES_MAX, VALUES_OF_DEFINITIONS_MAX
from podling.machinery.encoding.custom import is_custom
from podling.machinery.encoding.mismatch import Mismatch

DEFINITION = "CustomResourceDefinition"


def values_max(kind: str) -> int:
    """Return how many values a body for objects of ``kind`` may have."""
    return VALUES_OF_DEFINITIONS_MAX if kind == DEFINITION else VALUES_MAX


def read_object(
    data: bytes, content_type: str, type_: type[Any], field_validation: str
) -> tuple[Any, list[str]]:
    """Return the object in a body, and warnings about unknown fields. Raises ``ApiError``."""
    kind = type_.__name__
    if is_custom(type_):
        body = codec.read_body(data, content_type, kind)
    else:
        body = read_any(data, content_type, kind, values_max(kind))
    return codec.convert(body, type_, field_validation)


def read_any(data: bytes, content_type: str, kind: str = "", values_max: int = VALUES_MAX) -> codec.Body:
    """Return a body in any media type that is served. Raises 415 for others, 400 for malformed ones."""
    if content_type == JSON:
        return codec.read_body(data, content_type, kind, values_max)
    if content_type.startswith(protobuf.MEDIA_TYPE):
        return protobuf.read_protobuf(data, values_max)
    if content_type.partition(";")[0].strip().lower() not in ("", *ACCEPTED):
        raise errors.unsupported_media_type((*ACCEPTED, protobuf.MEDIA_TYPE))
    return codec.read_body(data, content_type, kind, values_max)


def read_options(data: bytes, content_type: str, type_: type[Any]) -> Any:
    """Return the options in the body of a deletion. Raises 400 for a body of another kind."""
    body = read_any(data, content_type)
    kind = body.value.get("kind") if isinstance(body.value, dict) else None
    if kind not in (None, "", type_.__name__):
        raise errors.bad_request(f"decoded object cannot be converted to {type_.__name__}")
    try:
        return intake.read(body, type_, "Ignore")[0]
    except Mismatch as error:
        raise errors.bad_request(str(error)) from None
