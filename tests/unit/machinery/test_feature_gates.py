"""Feature gates: the refusals of Kubernetes, and those of gates that switch nothing in Podling."""

from __future__ import annotations

import pytest

from podling.machinery.feature_gates import (
    GATES,
    SWITCHES,
    gate_problems,
    is_enabled,
    parse_gates,
)


def test_every_gate_is_listed_once() -> None:
    from podling.machinery import feature_gate_names as names

    lists = (
        names.ALPHA,
        names.BETA,
        names.BETA_OFF,
        names.GA,
        names.DEPRECATED,
        names.DEPRECATED_OFF,
        names.REMOVED,
    )
    every = [name for text in lists for name in text.split()]
    assert len(every) == len(set(every))
    assert GATES.keys() >= SWITCHES


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("", {}),
        ("MemoryQoS=true", {"MemoryQoS": True}),
        (" A = 1 ,B=F,", {"A": True, "B": False}),
    ],
)
def test_option_names_gates(text: str, gates: dict[str, bool]) -> None:
    assert parse_gates(text) == gates


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("A", "missing bool value for A"),
        ("A=on", 'invalid value of A=on, err: strconv.ParseBool: parsing "on": invalid syntax'),
    ],
)
def test_malformed_option_is_refused_as_kubernetes_does(text: str, error: str) -> None:
    with pytest.raises(ValueError, match="^" + error.replace("(", r"\(") + "$"):
        parse_gates(text)


@pytest.mark.parametrize(
    ("gates", "problems"),
    [
        ({}, []),
        ({"GracefulNodeShutdownBasedOnPodPriority": False, "GracefulNodeShutdown": False}, []),
        ({"CustomCPUCFSQuotaPeriod": True, "SidecarContainers": True, "PodDisruptionConditions": True}, []),
        ({"Foo": True}, ["unrecognized feature gate: Foo"]),
        (
            {"SidecarContainers": False},
            ["cannot set feature gate SidecarContainers to false, feature is locked to true"],
        ),
        (
            {"EndpointSliceTerminatingCondition": False, "NodeOutOfServiceVolumeDetach": False},
            [
                "cannot set feature gate EndpointSliceTerminatingCondition to false, "
                "feature is locked to true",
                "cannot set feature gate NodeOutOfServiceVolumeDetach to false, feature is locked to true",
            ],
        ),
        (
            {"LocalStorageCapacityIsolationFSQuotaMonitoring": True},
            [
                "cannot set feature gate LocalStorageCapacityIsolationFSQuotaMonitoring to true: "
                "Podling does not have it"
            ],
        ),
        (
            {"EnvFiles": False},
            ["cannot set feature gate EnvFiles to false: Podling always has it"],
        ),
        (
            {"ImageVolume": False, "NodeLogQuery": False, "MutatingAdmissionPolicy": True},
            [
                "cannot set feature gate ImageVolume to false, feature is locked to true",
                "cannot set feature gate NodeLogQuery to false, feature is locked to true",
            ],
        ),
        (
            {"ConstrainedImpersonation": True, "StrictIPCIDRValidation": True, "ShardedListAndWatch": False},
            [],
        ),
        ({"PodReadyToStartContainersCondition": False}, []),
        ({"PodReadyToStartContainersCondition": True, "PodHasNetworkCondition": True}, []),
        (
            {"PodHasNetworkCondition": False},
            ["cannot set feature gate PodHasNetworkCondition to false, feature is locked to true"],
        ),
        (
            {"HPAScaleToZero": True},
            ["cannot set feature gate HPAScaleToZero to true: Podling does not have it"],
        ),
        (
            {"GangScheduling": True},
            ["GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"],
        ),
        ({"GangScheduling": True, "GenericWorkload": True}, []),
        (
            {"GracefulNodeShutdown": False},
            [
                "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are "
                "disabled: [GracefulNodeShutdown]"
            ],
        ),
    ],
)
def test_gate_is_set_or_refused_by_name(gates: dict[str, bool], problems: list[str]) -> None:
    assert gate_problems(gates) == problems


def test_state_follows_the_choice() -> None:
    assert is_enabled("CustomCPUCFSQuotaPeriod", {"CustomCPUCFSQuotaPeriod": True})
    assert not is_enabled("CustomCPUCFSQuotaPeriod", {})
    assert is_enabled("GracefulNodeShutdown", {})
