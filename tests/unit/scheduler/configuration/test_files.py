"""The scheduler's configuration from a file: strict decoding, and the arguments of plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.scheduler.configuration.files import ConfigurationRefused, load
from podling.scheduler.configuration.plugin_args import (
    DefaultPreemptionArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def args_of(tmp_path: Path, text: str) -> dict[str, Any]:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + text)
    return {each.name: each.args for each in load(file).profiles[0].plugin_config}


def refusal(tmp_path: Path, text: str) -> str:
    file = tmp_path / "scheduler.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationRefused) as refused:
        load(file)
    return str(refused.value).removeprefix(f"failed to load scheduler config file, path: {file}, error: ")


def test_empty_configuration_has_the_defaults(tmp_path: Path) -> None:
    found = args_of(tmp_path, "")
    fit, preemption = found["NodeResourcesFit"], found["DefaultPreemption"]
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.scoring_strategy is not None
    assert fit.scoring_strategy.type == "LeastAllocated"
    assert [(each.name, each.weight) for each in fit.scoring_strategy.resources] == [
        ("cpu", 1),
        ("memory", 1),
    ]
    assert isinstance(preemption, DefaultPreemptionArgs)
    assert (preemption.min_candidate_nodes_percentage, preemption.min_candidate_nodes_absolute) == (10, 100)
    assert found["InterPodAffinity"].hard_pod_affinity_weight == 1
    assert found["PodTopologySpread"] == PodTopologySpreadArgs(defaulting_type="System")
    assert found["VolumeBinding"] == VolumeBindingArgs(bind_timeout_seconds=600)
    assert found["NodeAffinity"].added_affinity is None


def test_arguments_may_name_their_version_and_kind(tmp_path: Path) -> None:
    found = args_of(
        tmp_path,
        """
profiles:
- pluginConfig:
  - name: DefaultPreemption
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: DefaultPreemptionArgs
      minCandidateNodesPercentage: 50
""",
    )["DefaultPreemption"]
    assert (found.min_candidate_nodes_percentage, found.min_candidate_nodes_absolute) == (50, 100)


def test_arguments_that_are_given_replace_the_defaults(tmp_path: Path) -> None:
    """The first case of upstream's ``TestCodecsDecodePluginConfig``."""
    found = args_of(
        tmp_path,
        """
profiles:
- pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 50, minCandidateNodesAbsolute: 500}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 5}
  - name: NodeResourcesFit
    args: {ignoredResources: [foo]}
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 300}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: foo, operator: In, values: [bar]}]
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu}, {name: memory, weight: 0}, {name: scalar0, weight: 1}]}
""",
    )
    preemption, fit = found["DefaultPreemption"], found["NodeResourcesFit"]
    assert (preemption.min_candidate_nodes_percentage, preemption.min_candidate_nodes_absolute) == (50, 500)
    assert found["InterPodAffinity"].hard_pod_affinity_weight == 5
    assert (fit.ignored_resources, fit.scoring_strategy.type) == (("foo",), "LeastAllocated")
    assert found["VolumeBinding"].bind_timeout_seconds == 300
    required = found["NodeAffinity"].added_affinity.required_during_scheduling_ignored_during_execution
    [expression] = required.node_selector_terms[0].match_expressions
    assert (expression.key, expression.operator, expression.values) == ("foo", "In", ("bar",))
    balanced = found["NodeResourcesBalancedAllocation"].resources
    assert [(each.name, each.weight) for each in balanced] == [("cpu", 1), ("memory", 1), ("scalar0", 1)]


def test_absent_arguments_are_the_default_ones(tmp_path: Path) -> None:
    text = "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args:\n  - name: InterPodAffinity\n"
    found = args_of(tmp_path, text)
    assert found["VolumeBinding"].bind_timeout_seconds == 600
    assert found["InterPodAffinity"].hard_pod_affinity_weight == 1


def test_arguments_of_other_plugins_stay_as_they_are(tmp_path: Path) -> None:
    text = "profiles:\n- pluginConfig:\n  - name: OutOfTreePlugin\n    args: {foo: bar}\n"
    assert args_of(tmp_path, text)["OutOfTreePlugin"] == {"foo": "bar"}


SHAPE = """
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        requestedToCapacityRatio:
          shape:
          - Score: 2
            Utilization: 1
"""
RESOURCES = """
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        resources:
        - Name: cpu
          Weight: 1
"""
OTHER_KIND = """
profiles:
- pluginConfig:
  - name: DefaultPreemption
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: InterPodAffinityArgs
"""
_INSIDE = (
    "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args "
)
_FIT = _INSIDE + "for plugin NodeResourcesFit: strict decoding error: "
_RATIO = "scoringStrategy.requestedToCapacityRatio.shape[0]"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD + "foo: bar\n", 'strict decoding error: unknown field "foo"'),
        (
            HEAD + "profiles: [{plugins: {filtr: {}}}]\n",
            'strict decoding error: unknown field "profiles[0].plugins.filtr"',
        ),
        (
            HEAD + SHAPE,
            f'{_FIT}unknown field "{_RATIO}.Score", unknown field "{_RATIO}.Utilization"',
        ),
        (
            HEAD + RESOURCES,
            _FIT + 'unknown field "scoringStrategy.resources[0].Name", '
            'unknown field "scoringStrategy.resources[0].Weight"',
        ),
        (
            HEAD + OTHER_KIND,
            "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type "
            "DefaultPreemptionArgs.kubescheduler.config.k8s.io, got "
            "InterPodAffinityArgs.kubescheduler.config.k8s.io",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
            'no kind "KubeSchedulerConfiguration" is registered for version '
            '"kubescheduler.config.k8s.io/v1beta3"',
        ),
        ("{}\n", "Object 'Kind' is missing"),
    ],
)
def test_file_is_decoded_strictly(tmp_path: Path, text: str, why: str) -> None:
    assert refusal(tmp_path, text) == why


def test_repeated_field_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, HEAD + "parallelism: 16\nparallelism: 16\n").startswith(
        "strict decoding error: "
    )


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationRefused) as refused:
        load(tmp_path / "none.yaml")
    assert str(refused.value).endswith("none.yaml, error: No such file or directory")
