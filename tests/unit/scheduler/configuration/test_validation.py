"""Validation of the scheduler's configuration, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from podling.scheduler.configuration.files import ConfigurationRefused, configuration_of
from podling.scheduler.configuration.types import API_VERSION, KIND, KubeSchedulerConfiguration


def configuration(**fields: Any) -> KubeSchedulerConfiguration:
    return configuration_of({"apiVersion": API_VERSION, "kind": KIND, **fields}, "file")


def refusal(**fields: Any) -> str:
    with pytest.raises(ConfigurationRefused) as refused:
        configuration(**fields)
    return str(refused.value).partition("error: ")[2]


TWO = [{"schedulerName": "a"}, {"schedulerName": "b"}]


def sort_by(name: str) -> dict[str, Any]:
    return {"queueSort": {"enabled": [{"name": name}], "disabled": [{"name": "*"}]}}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"parallelism": 16, "percentageOfNodesToScore": 35},
        {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1},
        {"profiles": TWO},
        {"profiles": [{"schedulerName": "a", "plugins": {"score": {"disabled": [{"name": "*"}]}}}]},
        {"leaderElection": {"leaderElect": False, "leaseDuration": "1s"}},
        {"enableProfiling": False, "enableContentionProfiling": False},
    ],
)
def test_valid_configuration_is_accepted(fields: dict[str, Any]) -> None:
    assert configuration(**fields).profiles


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"parallelism": 0},
            "[parallelism: Invalid value: 0: should be an integer value greater than zero, "
            "field parallelism may only be 16: filters and scores look at all nodes in one operation]",
        ),
        (
            {"percentageOfNodesToScore": 101},
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            {"profiles": [{"percentageOfNodesToScore": -1}]},
            "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        ),
        ({"profiles": [TWO[0], {}]}, "profiles[1].schedulerName: Required value"),
        (
            {"profiles": [TWO[0], TWO[0]]},
            "profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName",
        ),
        (
            {"podInitialBackoffSeconds": 0},
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            {"podInitialBackoffSeconds": 20},
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to "
            "PodInitialBackoffSeconds",
        ),
        (
            {"profiles": [{"plugins": {"score": {"enabled": [{"name": "EBSLimits"}]}}}]},
            'profiles[0].plugins.score.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "GCEPDLimits"}]}]},
            'profiles[0].pluginConfig[0]: Invalid value: "GCEPDLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "config"}, {"name": "config"}]}]},
            'profiles[0].pluginConfig[1]: Duplicate value: "config"',
        ),
        (
            {"profiles": [{**TWO[0], "plugins": sort_by("CustomSort")}, TWO[1]]},
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[],"Disabled":[]}: must be the same '
            "for all profiles",
        ),
        (
            {"leaderElection": {"leaseDuration": "0s"}},
            '[leaderElection.leaseDuration: Invalid value: "0s": must be greater than zero, '
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`, '
            "field leaderElection.leaseDuration is not supported: the cluster has one scheduler, which needs "
            "no lease]",
        ),
        (
            {"leaderElection": {"leaderElect": True}},
            "field leaderElection.leaderElect may only be false: the cluster has one scheduler, which needs "
            "no lease",
        ),
        (
            {"clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"}},
            "field clientConnection.kubeconfig is not supported: the scheduler uses the API server of its "
            "cluster",
        ),
        (
            {"clientConnection": {"burst": -1}},
            "[clientConnection.burst: Invalid value: -1: must be non-negative, field clientConnection.burst "
            "is not supported: Podling does not limit its rate; priority and fairness of the API server "
            "does]",
        ),
    ],
)
def test_invalid_field_is_refused(fields: dict[str, Any], text: str) -> None:
    assert refusal(**fields) == text


@pytest.mark.parametrize(
    ("extenders", "text"),
    [
        (
            [{"urlPrefix": "http://e", "prioritizeVerb": "prioritize", "weight": -2}],
            "extenders[0].weight: Invalid value: -2: must have a positive weight applied to it",
        ),
        (
            [{"urlPrefix": "http://e", "bindVerb": "bind"}] * 2,
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can '
            "implement bind",
        ),
        (
            [{"urlPrefix": "http://e", "managedResources": [{"name": "foo.com/bar"}]}] * 2,
            'extenders[1].managedResources[0].name: Invalid value: "foo.com/bar": duplicate extender managed '
            "resource name",
        ),
        (
            [{"urlPrefix": "http://e", "managedResources": [{"name": "kubernetes.io/foo"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "kubernetes.io/foo": is an invalid '
            "extended resource name",
        ),
    ],
)
def test_extenders_are_validated(extenders: list[Any], text: str) -> None:
    assert refusal(extenders=extenders) == text
