"""Errors from HTTP responses.

A Kubernetes API server explains an error with a ``Status``; proxies and load balancers in between do not.
Then the error names the code alone, with the reasons and messages of client-go.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podling.api.meta_v1 import Status, StatusDetails
from podling.machinery.errors import ApiError, failure
from podling.machinery.numbers import is_number

_GENERIC = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow access to the requested resource"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", "the server was unable to respond with a content type that the client supports"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Gone", "the server reported that the requested resource is gone"),
    413: ("RequestEntityTooLarge", "Request entity too large"),
    415: ("UnsupportedMediaType", "the server was unable to read the content type of the request"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    ),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}


def error_of(code: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """Return the error that an answer with ``code`` stands for."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, msgspec.ValidationError):
        status = None
    if status is not None and status.kind == "Status" and status.status == "Failure":
        return ApiError(msgspec.structs.replace(status, code=status.code or code))
    reason, message = _GENERIC.get(
        code, ("InternalError" if code >= 500 else "", f"the server responded with the status code {code}")
    )
    after = headers.get("Retry-After", "")
    details = StatusDetails(retry_after_seconds=int(after)) if is_number(after) else None
    return failure(code, reason, message, details)
