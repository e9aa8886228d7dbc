"""Validation of autoscalers through the API server: upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.errors import ApiError
from tests.support.vertical_autoscalers import create, manifest

POLICY = "spec.resourcePolicy.containerPolicies[0]"
CLOSED = "not supported when feature flag PerVPAConfig is disabled"
BOOST = (
    "Forbidden: in order to use startupBoost, you must enable feature gate CPUStartupBoost in the "
    "admission-controller args"
)


def policy(**fields: Any) -> dict[str, Any]:
    return manifest("Off", {"containerName": "app", **fields})


@pytest.mark.parametrize(
    ("plain", "error"),
    [
        (manifest(updatePolicy={}), "spec.updatePolicy.updateMode: Required value: updateMode is required"),
        (manifest("bad"), 'spec.updatePolicy.updateMode: Unsupported value: "bad"'),
        (
            manifest(updatePolicy={"updateMode": "Off", "minReplicas": 0}),
            "spec.updatePolicy.minReplicas: Invalid value: 0: minReplicas has to be positive",
        ),
        (
            manifest("InPlace"),
            "spec.updatePolicy.updateMode: Forbidden: in order to use UpdateMode InPlace, you must enable "
            "feature gate InPlace in the admission-controller args",
        ),
        (manifest("Off", {"mode": "Auto"}), f"{POLICY}.containerName: Required value"),
        (policy(mode="bad"), f'{POLICY}.mode: Unsupported value: "bad"'),
        (
            policy(minAllowed={"cpu": "2"}, maxAllowed={"cpu": 1}),
            f'{POLICY}.maxAllowed[cpu]: Invalid value: "1": max resource for cpu is lower than min of "2"',
        ),
        (
            policy(minAllowed={"cpu": "10.5m"}),
            f'{POLICY}.minAllowed[cpu]: Invalid value: "10500u": must be a whole number of milli CPUs',
        ),
        (
            policy(maxAllowed={"memory": "500m"}),
            f'{POLICY}.maxAllowed[memory]: Invalid value: "500m": must be a whole number of bytes',
        ),
        (
            policy(mode="Off", controlledValues="RequestsAndLimits"),
            f"{POLICY}.controlledValues: Forbidden: controlledValues shouldn't be specified if container "
            "scaling mode is off",
        ),
        (
            policy(controlledResources=["cpu", "disk"]),
            f'{POLICY}.controlledResources[1]: Unsupported value: "disk": supported values: "cpu", "memory"',
        ),
        (policy(oomBumpUpRatio="1.5"), f"{POLICY}.oomBumpUpRatio: Forbidden: {CLOSED}"),
        (
            manifest(recommenders=[{"name": "a"}, {"name": "b"}]),
            "spec.recommenders: Too many: 2: must have at most 1 item",
        ),
        (manifest(startupBoost={"cpu": {"type": "Factor", "factor": 2}}), f"spec.startupBoost: {BOOST}"),
        (policy(startupBoost={"cpu": {"type": "Factor", "factor": 2}}), f"{POLICY}.startupBoost: {BOOST}"),
    ],
)
async def test_mistakes_are_refused(plain: dict[str, Any], error: str) -> None:
    with pytest.raises(ApiError) as refused:
        await create(plain)
    assert error in str(refused.value)


async def test_feature_gates_open_their_fields() -> None:
    stored, _ = await create(
        manifest("InPlace", {"containerName": "app", "oomBumpUpRatio": "1.5", "oomMinBumpUp": 1000}),
        InPlace=True,
        PerVPAConfig=True,
    )
    assert stored.update_mode == "InPlace"
    with pytest.raises(ApiError, match=r"must be greater than or equal to 1\.0"):
        await create(policy(oomBumpUpRatio="0.9"), PerVPAConfig=True)
