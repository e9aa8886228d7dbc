"""The kinds of extensions by the names that kubectl takes."""

from __future__ import annotations

import pytest

from podling.cli.workloads.extension_kinds import kind_of
from podling.extensions.extension import Extension
from podling_kruise.extension import KruiseExtension


@pytest.mark.parametrize(
    "text",
    [
        "cloneset",
        "CloneSet",
        "clonesets",
        "clone",
        "clonesets.apps.kruise.io",
        "cloneset.v1beta1.apps.kruise.io",
    ],
)
def test_kind_is_found_by_kubectl_names(text: str) -> None:
    found = kind_of([Extension(), KruiseExtension()], text)
    assert found is not None
    assert found.singular == "cloneset"


@pytest.mark.parametrize("text", ["", "pod", "cloneset.apps", "clonesets.example.com"])
def test_other_names_are_no_kind(text: str) -> None:
    assert kind_of([KruiseExtension()], text) is None


def test_extension_that_is_not_enabled_explains_nothing() -> None:
    assert kind_of([], "cloneset") is None
