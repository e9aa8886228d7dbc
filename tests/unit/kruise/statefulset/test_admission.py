"""Admission of Advanced StatefulSets: defaults and refusals, in both versions.

Cases: ``TestValidateStatefulSet``, ``TestValidateStatefulSetUpdate``, ``TestValidateReserveOrdinals``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from tests.support.advanced_sets import GATE, StatefulSets, rolling, stateful
from tests.support.clone_sets import api_of, template


@pytest.fixture
async def sets() -> AsyncIterator[StatefulSets]:
    async with api_of(StatefulSets) as found:
        yield found


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
async def test_defaults_are_filled_in(sets: StatefulSets, version: str) -> None:
    plain = stateful(version)
    del plain["spec"]["replicas"]
    await sets.create(plain)
    spec = (await sets.stored()).spec
    assert (spec.replicas, spec.revision_history_limit) == (1, 10)
    assert (spec.pod_management_policy, spec.update_strategy.type) == ("OrderedReady", "RollingUpdate")
    found = spec.rolling
    assert (found.partition, found.max_unavailable, found.min_ready_seconds) == (0, 1, 0)
    assert found.pod_update_policy == "ReCreate"
    assert spec.template.spec.dns_policy == "ClusterFirst"
    kept = spec.persistent_volume_claim_retention_policy
    assert (kept is not None and kept.when_scaled) == ("Retain" if version == "v1beta1" else False)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("policy", ["ReCreate", "InPlaceIfPossible", "InPlaceOnly"])
async def test_policy_may_be_the_type_of_the_strategy(sets: StatefulSets, version: str, policy: str) -> None:
    await sets.create(stateful(version, updateStrategy={"type": policy}))
    spec = (await sets.stored()).spec
    assert (spec.update_strategy.type, spec.rolling.pod_update_policy) == ("RollingUpdate", policy)
    gates = [each.condition_type for each in spec.template.spec.readiness_gates]
    assert gates == ([] if policy == "ReCreate" else ["InPlaceUpdateReady"])


def parallel(**fields: Any) -> dict[str, Any]:
    return {"podManagementPolicy": "Parallel", **fields}


STRATEGY = "spec.updateStrategy"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"replicas": -1}, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
    ({"selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for statefulset"),
    (
        {"selector": {"matchLabels": {"app": "other"}}},
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template '
        "`labels`",
    ),
    (
        {"podManagementPolicy": "Other"},
        "spec.podManagementPolicy: Invalid value: \"Other\": must be 'OrderedReady' or 'Parallel'",
    ),
    (
        {"reserveOrdinals": [-1]},
        "spec: Invalid value: [-1]: 0 th reserve ordinal is negative: -1",
    ),
    (
        {"reserveOrdinals": [1, "abc"]},
        'spec: Invalid value: [1,"abc"]: 1 th reserve ordinal is not a valid range: abc',
    ),
    (
        {"reserveOrdinals": ["5-3"]},
        'spec: Invalid value: ["5-3"]: 0 th reserve ordinal is invalid: 5-3, err = invalid range 5-3',
    ),
    (
        {"scaleStrategy": {"maxUnavailable": 2}},
        "spec.scaleStrategy.maxUnavailable: Invalid value: 2: can only work with Parallel "
        "PodManagementPolicyType",
    ),
    (
        parallel(scaleStrategy={"maxUnavailable": 0}),
        "spec.scaleStrategy.maxUnavailable: Invalid value: 0: should not be less than 1",
    ),
    (
        {"updateStrategy": {"type": "foo"}},
        "spec.updateStrategy: Invalid value: {\"type\":\"foo\"}: must be 'RollingUpdate' or 'OnDelete'",
    ),
    (
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        f'{STRATEGY}.rollingUpdate: Invalid value: {{"partition":1}}: only allowed for updateStrategy '
        "'RollingUpdate'",
    ),
    (
        {"updateStrategy": rolling(partition=-1)},
        f"{STRATEGY}.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        {"updateStrategy": rolling(minReadySeconds=301)},
        f"{STRATEGY}.rollingUpdate.minReadySeconds: Invalid value: 301: must be no more than 300 seconds",
    ),
    (
        {"updateStrategy": rolling(maxUnavailable=2)},
        f"{STRATEGY}.rollingUpdate.maxUnavailable: Invalid value: 2: can only work with Parallel "
        "PodManagementPolicyType",
    ),
    (
        parallel(updateStrategy=rolling(maxUnavailable="x")),
        f'{STRATEGY}.rollingUpdate.maxUnavailable: Invalid value: "x": a valid percent string must be a '
        "numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is "
        "'[0-9]+%')",
    ),
    (
        parallel(updateStrategy=rolling(maxUnavailable="x")),
        f"{STRATEGY}.rollingUpdate.maxUnavailable: Invalid value: 0: getValueFromIntOrPercent error: "
        'invalid value for IntOrString: invalid type: string is not a percentage: "x"',
    ),
    (
        parallel(updateStrategy=rolling(maxUnavailable="0%")),
        f"{STRATEGY}.rollingUpdate.maxUnavailable: Invalid value: 0: should not be less than 1",
    ),
    (
        {"updateStrategy": rolling("Other")},
        f"{STRATEGY}.rollingUpdate.podUpdatePolicy: Invalid value: \"Other\": must be 'ReCreate', "
        "InPlaceIfPossible or 'InPlaceOnly'",
    ),
    (
        {"updateStrategy": rolling("InPlaceOnly")},
        "spec.template.spec.readinessGates: Invalid value: []: must contains InPlaceUpdateReady when "
        "podUpdatePolicy is InPlaceOnly",
    ),
    (
        {"updateStrategy": rolling(unorderedUpdate={})},
        f"{STRATEGY}.rollingUpdate.unorderedUpdate: Required value: unorderedUpdate can only work with "
        "Parallel PodManagementPolicyType",
    ),
    (
        parallel(
            updateStrategy=rolling(
                unorderedUpdate={"priorityStrategy": {"orderPriority": [{"orderedKey": ""}]}}
            )
        ),
        f"{STRATEGY}.rollingUpdate.unorderedUpdate.priorityStrategy: Required value: order key can not be "
        "empty",
    ),
    (
        {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Other"}},
        'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Other": supported '
        'values: "Retain", "Delete"',
    ),
    (
        {"template": template(restartPolicy="Never")},
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ),
    (
        {"template": template(activeDeadlineSeconds=60)},
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not "
        "Supported",
    ),
]


@pytest.mark.parametrize(("spec", "cause"), WRONG)
async def test_wrong_sets_are_refused(sets: StatefulSets, spec: dict[str, Any], cause: str) -> None:
    with pytest.raises(ApiError) as caught:
        await sets.create(stateful(**spec))
    assert str(caught.value).startswith('StatefulSet.apps.kruise.io "web" is invalid: ')
    details = caught.value.status.details
    assert details is not None
    assert cause in [f"{each.field_}: {each.message}" for each in details.causes]


async def test_misspelled_strategy_is_a_strict_decoding_error(sets: StatefulSets) -> None:
    with pytest.raises(ApiError, match=r'strict decoding error: unknown field "spec\.updateStragegy"'):
        await sets.create(stateful(updateStragegy={"type": "InPlaceOnly"}))


@pytest.mark.parametrize(
    "spec",
    [
        {"updateStrategy": {"type": "InPlaceOnly"}},
        {"updateStrategy": rolling("InPlaceOnly"), "template": template(**GATE)},
    ],
)
async def test_in_place_only_refuses_all_changes_but_images(sets: StatefulSets, spec: dict[str, Any]) -> None:
    await sets.create(stateful(**spec))
    await sets.patch("v1beta1", template=template("web:2"))
    changed = template("web:2")
    changed["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    with pytest.raises(ApiError) as caught:
        await sets.patch("v1beta1", template=changed)
    assert str(caught.value) == (
        'StatefulSet.apps.kruise.io "web" is invalid: spec.template: Forbidden: invalid template modified '
        "with InPlaceOnly strategy: add /containers/0/env, currently only image update is allowed for "
        "InPlaceOnly"
    )


async def test_some_fields_cannot_be_changed(sets: StatefulSets) -> None:
    await sets.create(stateful())
    with pytest.raises(ApiError, match="updates to statefulset spec for fields other than 'replicas'"):
        await sets.patch("v1beta1", podManagementPolicy="Parallel")
    allowed = {"replicas": 5, "reserveOrdinals": [1, "3-4"], "ordinals": {"start": 2}}
    await sets.patch("v1beta1", **allowed)
