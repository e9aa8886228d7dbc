"""``--scheduler-config``: the file, the section of a cluster's configuration, and what the last run had."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cli.common_options import Failure
from podling.cli.options.scheduler_options import chosen_scheduler_options
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.scheduler_settings import scheduler_configuration
from podling.node.node_options import NodeOptions

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
LAST = ClusterSettings(scheduler_document='{"podMaxBackoffSeconds": 30}')


def chosen(
    config: str | None = None, document: str | None = None, last: ClusterSettings = LAST, gates: str = ""
) -> ClusterSettings:
    given = {"scheduler_config": config, "scheduler_document": document}
    options = NodeOptions(feature_gates=gates)
    return ClusterSettings(node_options=options, **chosen_scheduler_options(given, last, options))


def backoff(settings: ClusterSettings) -> int | None:
    found = scheduler_configuration(settings)
    return None if found is None else found.pod_max_backoff_seconds


def test_without_option_the_last_configuration_holds() -> None:
    assert backoff(chosen()) == 30
    assert backoff(chosen(last=ClusterSettings())) is None


def test_file_takes_the_place_of_a_section(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + "podMaxBackoffSeconds: 40\n")
    by_file = chosen(str(file))
    assert (by_file.scheduler_config, backoff(by_file)) == (str(file), 40)
    assert backoff(chosen(document='{"podMaxBackoffSeconds": 50}', last=by_file)) == 50


def test_empty_option_ends_the_use_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD)
    assert backoff(chosen("", last=chosen(str(file)))) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("podMaxBackoffSeconds: 0\n", "podMaxBackoffSeconds: Invalid value: 0"),
        ("profiles: [{plugins: {filter: {enabled: [{name: X}]}}}]\n", 'FilterPlugin "X" does not exist'),
    ],
)
def test_configuration_that_cannot_be_used_is_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + text)
    with pytest.raises(Failure, match=why):
        chosen(str(file))


def test_feature_gate_allows_scores_by_storage(tmp_path: Path) -> None:
    shape = "[{utilization: 0, score: 3}]"
    args = f"profiles: [{{pluginConfig: [{{name: VolumeBinding, args: {{shape: {shape}}}}}]}}]\n"
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + args)
    with pytest.raises(Failure, match="unexpected field `shape`"):
        chosen(str(file))
    found = scheduler_configuration(chosen(str(file), gates="StorageCapacityScoring=true"))
    assert found is not None
    assert found.profiles[0].plugin_config[0].args.shape[0].score == 3
