"""Names and columns under which ``kubectl`` shows OpenKruise's workloads."""

from __future__ import annotations

import pytest

from podling_kruise.extension import KruiseExtension

DEFINITIONS = {each.spec.names.plural: each for each in KruiseExtension().definitions()}


@pytest.mark.parametrize(
    ("plural", "short", "columns", "scales"),
    [
        ("statefulsets", ("sts", "asts"), ["DESIRED", "CURRENT", "UPDATED", "READY", "AGE"], True),
        (
            "daemonsets",
            ("daemon", "ads"),
            ["DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
            False,
        ),
    ],
)
def test_short_names_and_columns(
    plural: str, short: tuple[str, ...], columns: list[str], scales: bool
) -> None:
    definition = DEFINITIONS[plural]
    assert definition.spec.names.short_names == short
    versions = {each.name: each for each in definition.spec.versions}
    assert [name for name, each in versions.items() if each.storage] == ["v1beta1"]
    assert versions.keys() == {"v1alpha1", "v1beta1"}
    for version in versions.values():
        shown = [each.name for each in version.additional_printer_columns if not each.priority]
        assert shown == columns
        assert version.subresources is not None
        assert (version.subresources.scale is not None) is scales
