"""Kinds of resource names."""

from __future__ import annotations

import pytest

from podling.machinery.resource_names import is_extended, is_huge_page, is_native


@pytest.mark.parametrize(
    ("name", "native", "extended"),
    [
        ("cpu", True, False),
        ("hugepages-2Mi", True, False),
        ("pod.alpha.kubernetes.io/opaque-int-resource-foo", True, False),
        ("kubernetes.io/foo", True, False),
        ("example.com/gpu", False, True),
        ("requests.example.com/gpu", False, False),
        ("example.com/", False, False),
        ("example.com/a/b", False, False),
        ("a" * 63 + ".com/gpu", False, True),
        (f"{'a' * 240}.com/gpu", False, True),
        (f"{'a' * 245}.com/gpu", False, False),  # too long with the prefix "requests."
        (f"example.com/{'a' * 64}", False, False),
    ],
)
def test_resource_name_is_native_or_extended(name: str, native: bool, extended: bool) -> None:
    assert is_native(name) is native
    assert is_extended(name) is extended


@pytest.mark.parametrize(("name", "huge"), [("hugepages-1Gi", True), ("hugepages", False), ("memory", False)])
def test_huge_page_resource_has_its_prefix(name: str, huge: bool) -> None:
    assert is_huge_page(name) is huge
