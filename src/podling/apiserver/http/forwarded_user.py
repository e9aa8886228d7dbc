"""The user of a request that an API worker forwards, in a header.

Only a socket that no other user of the machine can open accepts it.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache

import msgspec

from podling.apiserver.http.exchange import HttpRequest
from podling.client.messages import decode_user, encode_user
from podling.client.requests import User
from podling.machinery import errors
from podling.machinery.text_cache import cached_by_text

HEADER = "X-Podling-User"
REMEMBERED = 1024
"""Users whose headers are remembered."""


@lru_cache(REMEMBERED)
def header_of(user: User) -> str:
    """Return the header's value for ``user``."""
    return base64.urlsafe_b64encode(encode_user(user)).decode()


def forwarded_user(request: HttpRequest) -> User:
    """Return the user that the worker has authenticated. Raises 401 without a valid header."""
    try:
        return _user_of(request.headers.get(HEADER, ""))
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise errors.unauthorized() from None


@cached_by_text(REMEMBERED, 1024)
def _user_of(header: str) -> User:
    return decode_user(base64.urlsafe_b64decode(header))
