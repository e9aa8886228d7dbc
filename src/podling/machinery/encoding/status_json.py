"""The JSON of a ``Status``, byte for byte as Kubernetes writes it.

Go writes a struct's fields in the order of their declaration (apimachinery ``meta/v1/types.go``), leaves zero
values out, and escapes in strings what HTML could take for markup (``encoding/json``). Clients compare these
bytes with texts of their own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podling.api.meta_v1 import ListMeta, Status, StatusCause, StatusDetails

HTML_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)
"""None of these occurs in JSON outside strings."""


def status_json(status: Status, *, typed: bool = True) -> bytes:
    """Return the status as JSON without a final newline; ``typed``: with its kind and version."""
    head = {"kind": status.kind, "apiVersion": status.api_version} if typed else {}
    plain = {
        **head,
        "metadata": _list_meta(status.metadata),
        **_present(status=status.status, message=status.message, reason=status.reason),
        **({"details": _details(status.details)} if status.details is not None else {}),
        **_present(code=status.code),
    }
    return html_escaped(msgspec.json.encode(plain))


def html_escaped(encoded: bytes) -> bytes:
    """Return JSON with the characters escaped that Go escapes for HTML's sake."""
    for character, escape in HTML_ESCAPES:
        if character in encoded:
            encoded = encoded.replace(character, escape)
    return encoded


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _list_meta(metadata: ListMeta) -> dict[str, Any]:
    found = _present(
        selfLink=metadata.self_link,
        resourceVersion=metadata.resource_version,
        **{"continue": metadata.continue_},
    )
    if metadata.remaining_item_count is not None:  # a pointer in Go: zero is written
        found["remainingItemCount"] = metadata.remaining_item_count
    return found


def _details(details: StatusDetails) -> dict[str, Any]:
    return _present(
        name=details.name,
        group=details.group,
        kind=details.kind,
        uid=details.uid,
        causes=[_cause(cause) for cause in details.causes],
        retryAfterSeconds=details.retry_after_seconds,
    )


def _cause(cause: StatusCause) -> dict[str, Any]:
    return _present(reason=cause.reason, message=cause.message, field=cause.field_)
