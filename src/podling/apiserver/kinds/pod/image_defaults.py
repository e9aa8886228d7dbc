"""The default pull policy of an image, by its tag.

Upstream: ``pkg/apis/core/v1/defaults.go`` and, for tags, ``pkg/util/parsers``.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST_PART = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_NAME_PART}(?:/{_NAME_PART})*"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?P<digest>@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{32,})?"
)


REMEMBERED_LENGTH = 512
"""The maximum length of image names whose policies are cached: there are few, used by many pods."""


def image_pull_policy(image: str) -> str:
    """Return ``Always`` for the moving tag ``latest`` (also when no tag is given), else ``IfNotPresent``."""
    return _policy_of_known(image) if len(image) <= REMEMBERED_LENGTH else _policy_of(image)


def _policy_of(image: str) -> str:
    match = _IMAGE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    tag = match["tag"] or ("" if match["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


_policy_of_known = lru_cache(1024)(_policy_of)
