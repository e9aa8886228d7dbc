"""Options for nodes: those given, else the last run's; invalid ones are refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from podling.cli.common_options import Failure
from podling.cli.options.node_options import chosen_node_options
from podling.cli.up import up
from podling.node.node_options import NodeOptions

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
LAST = NodeOptions(node_labels="disk=ssd", register_node=False)


def test_given_option_replaces_the_last_one() -> None:
    assert chosen_node_options({}, LAST) == LAST
    assert chosen_node_options({"node_labels": ""}, LAST) == NodeOptions(register_node=False)
    assert chosen_node_options({"register_node": True}, LAST).register_node
    assert chosen_node_options({"fail_swap_on": False}, LAST).fail_swap_on is False


def test_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kubelet.yaml").write_text(HEAD)
    chosen = chosen_node_options({"kubelet_config": "kubelet.yaml"}, NodeOptions())
    assert chosen.kubelet_config == str(tmp_path / "kubelet.yaml")


def test_file_and_document_replace_each_other(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD)
    first = chosen_node_options({"kubelet_config": str(file)}, NodeOptions())
    second = chosen_node_options({"kubelet_document": '{"maxPods": 3}'}, first)
    assert second == NodeOptions(kubelet_document='{"maxPods": 3}')
    assert chosen_node_options({"kubelet_config": str(file)}, second) == first


def test_invalid_option_is_refused() -> None:
    with pytest.raises(Failure, match="malformed pair"):
        chosen_node_options({"node_labels": "disk"}, NodeOptions())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--feature-gates", "NoSuch=true"), "unrecognized feature gate: NoSuch"),
        (("--node-labels", "kubernetes.io/role=web"), "unknown 'kubernetes.io' or 'k8s.io' labels"),
        (("--register-with-taints", "a"), "invalid taint spec: a"),
        (("--kubelet-config", "/absent.yaml"), "failed to load kubelet config file, path: /absent.yaml"),
        (("--node-status-update-frequency", "5"), "missing unit in duration"),
        (("--node-monitor-period", "0s"), "--node-monitor-period must be greater than 0"),
        (("--unhealthy-zone-threshold", "2"), "--unhealthy-zone-threshold must be between 0 and 1"),
        (("--hostname-override", "a_b"), "--hostname-override a_b: a lowercase RFC 1123 subdomain"),
    ],
)
def test_up_names_what_is_wrong_before_it_starts(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    data = tmp_path / "data"
    done = CliRunner().invoke(up, [*arguments, f"--data-dir={data}", "--runtime", "sim"])
    assert done.exit_code == 1
    assert words in done.stderr
    assert not (data / "cluster.json").exists()
