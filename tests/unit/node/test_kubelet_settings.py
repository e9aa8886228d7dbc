"""The user's settings of a kubelet: file, document and options together."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.kubelet.configuration.refused import ConfigurationRefused
from podling.node.kubelet_settings import kubelet_settings
from podling.node.node_options import NodeOptions

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def test_options_are_merged_over_file_and_drop_ins(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + "maxPods: 10\nregisterNode: true\n")
    (tmp_path / "10.conf").write_text(HEAD + "maxPods: 20\n")
    options = NodeOptions(kubelet_config=str(file), config_dir=str(tmp_path), register_node=False)
    assert kubelet_settings(options) == {"max_pods": 20, "register_node": False}


def test_document_of_the_cluster_takes_the_place_of_a_file(tmp_path: Path) -> None:
    options = NodeOptions(kubelet_document='{"maxPods": 7}', node_labels="a=b")
    assert kubelet_settings(options) == {"max_pods": 7, "node_labels": {"a": "b"}}
    assert kubelet_settings(NodeOptions()) == {}


def test_refusal_of_an_option_is_one_of_the_configuration() -> None:
    with pytest.raises(ConfigurationRefused, match="unrecognized feature gate: NoSuch"):
        kubelet_settings(NodeOptions(feature_gates="NoSuch=true"))
