"""Requests in priority levels, as metrics and debug pages show them."""

from __future__ import annotations

from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.request_info import attributes_of

READS = ("GET", "HEAD")


def is_change(request: object) -> bool:
    """Return whether a request changes objects."""
    return isinstance(request, HttpRequest) and request.method not in READS


def shown_attributes(request: HttpRequest) -> Attributes:
    """Return the attributes of a request."""
    return attributes_of(request.method, request.path, watch="watch=" in request.query_string)
