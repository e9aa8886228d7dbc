"""Objects of scenarios: read strictly, copied, and applied twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.api.core_v1 import ConfigMap
from podling.sim.manifests import ManifestProblem, apply, manifests_of
from podling.sim.scenario_parts import ManifestSource
from podling.testing import ControlPlane

SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}


def test_copies_have_numbers_after_their_names() -> None:
    found = manifests_of(ManifestSource(objects=(SETTINGS,), copies=3), Path())
    assert [each.obj.metadata.name for each in found] == ["settings-1", "settings-2", "settings-3"]
    assert [each.plain["metadata"]["name"] for each in found] == ["settings-1", "settings-2", "settings-3"]


def test_file_may_hold_documents_and_lists(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("""
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}
---
---
apiVersion: v1
kind: Namespace
metadata: {name: c}
""")
    found = manifests_of(ManifestSource(file="all.yaml"), tmp_path)
    assert [(each.resource.kind, each.obj.metadata.name, each.namespace) for each in found] == [
        ("ConfigMap", "a", "default"),
        ("ConfigMap", "b", "other"),
        ("Namespace", "c", None),
    ]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({}, 'no matches for kind "" in version ""'),
        ({**SETTINGS, "data": {"a": 1}}, "cannot unmarshal number"),
        ({**SETTINGS, "more": 1}, 'unknown field "more"'),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "metadata.name: Required value"),
    ],
)
def test_unreadable_object_is_refused(document: dict[str, object], problem: str) -> None:
    with pytest.raises(ManifestProblem, match=problem) as caught:
        manifests_of(ManifestSource(objects=(SETTINGS, document)), Path())
    assert caught.value.number == 1


async def test_second_application_changes_the_object(cluster: ControlPlane) -> None:
    for value in ("1", "2"):
        plain = {**SETTINGS, "data": {"a": value}}
        (manifest,) = manifests_of(ManifestSource(objects=(plain,)), Path())
        await apply(cluster.client, manifest)
    found = await cluster.client.get(ConfigMap, "settings", "default")
    assert found.data == {"a": "2"}
