"""The error of a machine that cannot join, and its text for the answers of an API server."""

from __future__ import annotations

from podling.machinery.errors import ApiError

NEW_TOKEN = "make a new one on the cluster's machine: podling token create --join"


class JoinRefused(Exception):
    """The machine cannot join; the text is one line that says why and what to do."""


def refusal(error: ApiError, what: str) -> JoinRefused:
    """Return the refusal that an answer to a token's request means."""
    if error.code == 401:
        return JoinRefused(
            f"the cluster does not accept the token: it has expired or was deleted; {NEW_TOKEN}"
        )
    if error.code == 403:
        return JoinRefused(f"the token may not {what}: {error}")
    return JoinRefused(f"cannot {what}: {error}")
