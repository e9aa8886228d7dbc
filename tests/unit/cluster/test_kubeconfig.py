"""Merges of the cluster into the kubeconfig file of a user."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from podling.cluster.kubeconfig import KubeconfigUnusable, merge_into


def config(name: str, server: str) -> bytes:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": server}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "users": [{"name": name, "user": {}}],
        }
    ).encode()


def test_a_kubeconfig_keeps_the_clusters_it_had(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(config("theirs", "https://theirs"))
    merge_into(path, config("podling", "https://old"))
    merge_into(path, config("podling", "https://new"))
    written = yaml.safe_load(path.read_text())
    assert written["current-context"] == "podling"
    servers = {entry["name"]: entry["cluster"]["server"] for entry in written["clusters"]}
    assert servers == {"theirs": "https://theirs", "podling": "https://new"}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["just words", "- a\n- list", "clusters: 3", "{unclosed"])
def test_another_kind_of_file_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigUnusable):
        merge_into(path, config("podling", "https://new"))
    assert path.read_text() == text
