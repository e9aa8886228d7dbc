"""Order of the versions of a definition."""

from __future__ import annotations

from podling.apiserver.customresources.versions import priority


def test_stable_versions_come_first() -> None:
    names = ["foo10", "v1alpha1", "v2", "v10", "v11alpha2", "v3beta1", "v12alpha1", "v1", "foo1", "v11beta2"]
    expected = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
    ]
    assert sorted(names, key=priority) == expected
