"""``podling up --config``: the file in place of options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from podling.cli import up as up_module
from podling.cli.common_options import Failure
from podling.cli.options.cluster_configuration import defaults_from
from podling.cli.up import up

HEAD = "apiVersion: podling.dev/v1alpha1\nkind: ClusterConfiguration\n"

WHOLE = (
    HEAD
    + """
nodes: 2
runtime: sim
clusterCIDR: [10.20.0.0/16, "fd00:20::/48"]
nodeMonitorGracePeriod: 40s
terminatedPodGCThreshold: 3
controllers: ["*", -cronjob]
registerNode: false
nodeLabels: {disk: ssd, rack: 1}
featureGates: {CustomCPUCFSQuotaPeriod: true}
kubeletConfiguration:
  maxPods: 20
schedulerConfiguration:
  podMaxBackoffSeconds: 30
admissionConfiguration:
  plugins: [{name: Priority}]
"""
)


def defaults(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    return defaults_from(file, up.params)


def test_every_kind_of_value_becomes_an_options(tmp_path: Path) -> None:
    assert defaults(tmp_path, WHOLE) == {
        "nodes": "2",
        "runtime": "sim",
        "cluster_cidr": "10.20.0.0/16,fd00:20::/48",
        "node_monitor_grace_period": "40s",
        "terminated_pod_gc_threshold": "3",
        "controllers": ("*,-cronjob",),
        "register_node": False,
        "node_labels": "disk=ssd,rack=1",
        "feature_gates": "CustomCPUCFSQuotaPeriod=true",
        "kubelet_document": '{"maxPods": 20}',
        "scheduler_document": '{"podMaxBackoffSeconds": 30}',
        "admission_document": '{"plugins": [{"name": "Priority"}]}',
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: Pod\n", "it is no ClusterConfiguration of podling.dev/v1alpha1"),
        ("- 1\n", "it is no ClusterConfiguration"),
        (HEAD + "colour: red\n", 'strict decoding error: unknown field "colour"'),
        (HEAD + "detach: true\n", 'unknown field "detach"'),
        (HEAD + "nodes: 1\nnodes: 2\n", 'key "nodes" already set in map'),
        (HEAD + "nodes:\n", "nodes has no value"),
        (HEAD + "kubeletConfiguration: {maxPodz: 1}\n", 'unknown field "maxPodz"'),
        (HEAD + "kubeletConfiguration: {maxPods: -1}\n", "maxPods (--max-pods) -1 must not be a negative"),
        (HEAD + "kubeletConfiguration: 3\n", "kubeletConfiguration is no object"),
        (HEAD + "admissionConfiguration: []\n", "admissionConfiguration is no object"),
        (HEAD + "admissionConfiguration: {plugin: []}\n", 'unknown field "plugin"'),
        (HEAD + "admissionConfiguration: {plugins: [{name: X}]}\n", "unknown admission plugin: X"),
        ("{", "error converting YAML to JSON"),
    ],
)
def test_bad_file_is_refused_with_its_path(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Failure) as refused:
        defaults(tmp_path, text)
    assert words in refused.value.message
    assert "cluster.yaml" in refused.value.message


def test_paths_of_admission_plugins_are_beside_the_file(tmp_path: Path) -> None:
    quota = tmp_path / "quota.yaml"
    quota.write_text("apiVersion: apiserver.config.k8s.io/v1\nkind: ResourceQuotaConfiguration\n")
    plugins = "admissionConfiguration: {plugins: [{name: ResourceQuota, path: quota.yaml}]}\n"
    document = defaults(tmp_path, HEAD + plugins)["admission_document"]
    assert json.loads(document) == {"plugins": [{"name": "ResourceQuota", "path": str(quota)}]}


def test_option_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(WHOLE)
    seen: dict[str, Any] = {}
    monkeypatch.setattr(up_module, "_check_choice_of_parts", seen.update)
    monkeypatch.setattr(up_module, "detach_command", lambda *_: None)
    options = ["--config", str(file), "--nodes", "3", "--data-dir", str(tmp_path / "data"), "--detach"]
    done = CliRunner().invoke(up, options)
    assert done.exit_code == 0, done.stderr
    assert (seen["nodes"], seen["runtime"], seen["node_monitor_grace_period"]) == (3, "sim", 40.0)
    assert seen["controllers"] == "*,-cronjob"
    assert seen["kubelet_document"] == '{"maxPods": 20}'


def test_value_of_the_wrong_type_is_refused_like_an_options(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(HEAD + "nodes: many\n")
    done = CliRunner().invoke(up, ["--config", str(file), "--data-dir", str(tmp_path / "data")])
    assert done.exit_code == 2
    assert "'--nodes'" in done.stderr
