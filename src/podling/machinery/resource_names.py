"""Kinds of resource names: native, extended, huge pages.

Upstream: ``pkg/apis/core/helper/helpers.go``.
"""

from __future__ import annotations

from podling.machinery import names

HUGE_PAGES = "hugepages-"


def is_huge_page(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """Return whether Kubernetes defines the resource: unprefixed, or under ``kubernetes.io/``."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Return whether a device plugin or an administrator defines the resource."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name_errors(f"requests.{name}")
