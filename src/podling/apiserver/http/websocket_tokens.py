"""Bearer tokens that WebSocket clients send as a subprotocol, because browsers let them set no header.

Source: ``apiserver/pkg/authentication/request/websocket/protocol.go``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import cast

from multidict import CIMultiDict

from podling.apiserver.http.exchange import HttpRequest
from podling.machinery import errors
from podling.streaming.websocket_connection import (
    PROTOCOLS_HEADER,
    is_websocket_request,
    offered_protocols,
)

PREFIX = "base64url.bearer.authorization.k8s.io."
"""The token follows, in base64 for URLs without padding."""


def with_bearer_token(request: HttpRequest) -> HttpRequest:
    """Return ``request`` with the token of its subprotocols as its ``Authorization`` header.

    The token is taken out of the subprotocols, so that it reaches no server behind this one. Raises 401.
    """
    if not is_websocket_request(request):
        return request
    offered = offered_protocols(request)
    token, others = split_token(offered)
    if others == offered:
        return request
    headers = CIMultiDict(request.headers)
    headers[PROTOCOLS_HEADER] = ", ".join(others)
    if token and "Authorization" not in headers:
        headers["Authorization"] = f"Bearer {token}"
    return cast("HttpRequest", request.clone(headers=headers))


def split_token(offered: Sequence[str]) -> tuple[str, list[str]]:
    """Return the token among the offered subprotocols, empty for none, and the other subprotocols.

    Raises 401 for several tokens, for one that is no text, and for one without a subprotocol beside it.
    """
    tokens = [name.removeprefix(PREFIX) for name in offered if name.startswith(PREFIX)]
    others = [name for name in offered if not name.startswith(PREFIX)]
    if not tokens:
        return "", others
    token = _decoded(tokens[0])
    if len(tokens) > 1 or (token and not others):
        raise errors.unauthorized()
    return token, others


def _decoded(text: str) -> str:
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        if "=" in text:
            raise ValueError("padding")
        return plain.decode()
    except (binascii.Error, ValueError):
        raise errors.unauthorized() from None
