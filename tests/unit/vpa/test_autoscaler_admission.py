"""Admission of autoscalers: defaults and warnings."""

from __future__ import annotations

from podling.machinery.encoding import codec
from tests.support.vertical_autoscalers import create, manifest


async def test_update_policy_defaults_to_recreate() -> None:
    plain = manifest()
    del plain["spec"]["updatePolicy"]
    stored, warnings = await create(plain)
    assert stored.spec.update_policy is not None
    assert stored.spec.update_policy.update_mode == "Recreate"
    assert warnings == []


async def test_mode_auto_is_warned_of() -> None:
    _, warnings = await create(manifest("Auto"))
    assert warnings == [
        'spec.updatePolicy: "Auto" mode is deprecated and will be removed in a future API version. '
        "Use explicit update modes like: [InPlace InPlaceOrRecreate Initial Off Recreate]. See "
        "https://github.com/kubernetes/autoscaler/issues/8424 for more details."
    ]


async def test_manifest_with_all_fields_is_kept() -> None:
    policy = {
        "containerName": "app",
        "minAllowed": {"cpu": 1},
        "maxAllowed": {"memory": "1Gi"},
        "controlledResources": ["cpu"],
    }
    plain = manifest("Off", policy)
    plain["spec"]["updatePolicy"] = {
        "updateMode": "Recreate",
        "minReplicas": 3,
        "evictionRequirements": [{"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"}],
    }
    stored, _ = await create(plain)
    assert codec.to_plain(stored)["spec"] == plain["spec"]
