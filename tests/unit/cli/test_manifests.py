"""Manifests from files: several at once, lists taken apart, and mistakes reported in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cli.common_options import Failure
from podling.cli.manifests import read

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, image: x}]}\n"


def write(folder: Path, text: str) -> list[str]:
    path = folder / "manifest.yaml"
    path.write_text(text)
    return [str(path)]


def test_documents_and_lists_are_read_in_order(tmp_path: Path) -> None:
    text = (
        "# nothing here\n---\n" + POD + "---\napiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}\n"
        "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}\n"
        "- {apiVersion: v1, kind: Namespace, metadata: {name: c}}\n"
    )
    manifests = read(write(tmp_path, text), "default")
    assert [found.title for found in manifests] == [
        "pod/web",
        "configmap/a",
        "deployment.apps/b",
        "namespace/c",
    ]
    assert [found.namespace for found in manifests] == ["default", "other", "default", None]
    assert manifests[0].obj.metadata.namespace == "default"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "error parsing YAML"),
        ("- a\n", "a manifest must be a mapping, found list"),
        ("", "no objects in the given files"),
        ("kind: Pod\n", 'no matches for kind "Pod" in version ""'),
        ("apiVersion: v1\nkind: Gizmo\n", 'no matches for kind "Gizmo" in version "v1"'),
        (POD.replace("image", "imgae"), 'unknown field "spec.containers[0].imgae"'),
        (POD.replace("[{", "{").replace("}]", "}"), "cannot unmarshal"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(Failure) as raised:
        read(write(tmp_path, text), "default")
    assert complaint in raised.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="No such file or directory"):
        read([str(tmp_path / "none.yaml")], "default")
