"""The sources of the objects of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.testing.manifests import documents

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
TWO = f"{ONE}---\n---\n{ONE.replace('name: a', 'name: b')}"


def names(source: Any) -> list[str]:
    return [each["metadata"]["name"] for each in documents(source)]


def test_text_may_have_several_documents() -> None:
    assert names(TWO) == ["a", "b"]


def test_files_and_folders_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "2.yaml").write_text(ONE)
    (tmp_path / "1.yml").write_text(TWO)
    (tmp_path / "notes.txt").write_text("not a manifest")
    assert names(tmp_path) == ["a", "b", "a"]
    assert names(str(tmp_path / "2.yaml")) == ["a"]


def test_lists_are_taken_apart() -> None:
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    assert names({"apiVersion": "v1", "kind": "List", "items": [item, item]}) == ["x", "x"]
    assert names([item, ONE]) == ["x", "a"]


def test_objects_of_the_api_are_sources() -> None:
    (found,) = documents(ConfigMap(metadata=ObjectMeta(name="a"), data={"key": "value"}))
    assert found == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"key": "value"},
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a: [", "error parsing YAML"),
        ("- a\n- b\n", "must be a mapping, found list"),
        ("kind: Pod\n", "apiVersion not set"),
        ({}, "apiVersion and kind not set"),
    ],
)
def test_sources_without_objects_are_refused(source: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(documents(source))


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(documents(tmp_path / "absent.yaml"))
