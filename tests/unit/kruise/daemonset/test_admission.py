"""Admission of Advanced DaemonSets: defaults and refusals, in both versions.

Cases: ``TestValidateDaemonSet`` and ``TestValidateRollingUpdateDaemonSet`` of ``pkg/webhook/daemonset``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from tests.support.advanced_sets import DaemonSets, daemon, daemon_rolling
from tests.support.clone_sets import api_of, template

VERSIONS = ["v1alpha1", "v1beta1"]


@pytest.fixture
async def sets() -> AsyncIterator[DaemonSets]:
    async with api_of(DaemonSets) as found:
        yield found


@pytest.mark.parametrize("version", VERSIONS)
async def test_defaults_are_filled_in(sets: DaemonSets, version: str) -> None:
    await sets.create(daemon(version))
    spec = (await sets.stored()).spec
    assert (spec.burst_replicas, spec.revision_history_limit) == (250, 10)
    found = spec.rolling
    assert (spec.update_strategy.type, found.rolling_update_type) == ("RollingUpdate", "Standard")
    assert (found.max_unavailable, found.max_surge) == (1, 0)
    assert spec.template.spec.dns_policy == "ClusterFirst"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("policy", "kind"),
    [("ReCreate", "Standard"), ("InPlaceIfPossible",) * 2, ("InPlaceOnly",) * 2],
)
async def test_policy_may_be_the_type_of_the_strategy(
    sets: DaemonSets, version: str, policy: str, kind: str
) -> None:
    await sets.create(daemon(version, updateStrategy={"type": policy}))
    strategy = (await sets.stored()).spec.update_strategy
    assert strategy.rolling_update is not None
    assert (strategy.type, strategy.rolling_update.rolling_update_type) == ("RollingUpdate", kind)


ROLLING = "spec.updateStrategy.rollingUpdate"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for daemonset"),
    (
        {"selector": {"matchLabels": {"app": "other"}}},
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template '
        "`labels`",
    ),
    (
        {"template": template(restartPolicy="Never")},
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ),
    (
        {"template": template(activeDeadlineSeconds=5)},
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not "
        "Supported",
    ),
    ({"minReadySeconds": -1}, "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"),
    (
        {"updateStrategy": {"type": "foo"}},
        'spec.updateStrategy: Unsupported value: {"type":"foo"}: supported values: "RollingUpdate", '
        '"OnDelete"',
    ),
    (
        {"updateStrategy": daemon_rolling(maxUnavailable=1, maxSurge=1)},
        f"{ROLLING}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ),
    (
        {"updateStrategy": daemon_rolling(maxUnavailable=0)},
        f"{ROLLING}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
    ),
    (
        {"updateStrategy": daemon_rolling(maxUnavailable="x")},
        f'{ROLLING}.maxUnavailable: Invalid value: "x": a valid percent string must be a numeric string '
        "followed by an ending '%'",
    ),
    (
        {"updateStrategy": daemon_rolling(maxUnavailable="101%")},
        f'{ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
    ),
    (
        {"updateStrategy": daemon_rolling("InPlaceIfPossible", maxSurge=1)},
        f"{ROLLING}.maxSurge: Required value: must be 0 for InPlaceIfPossible type",
    ),
    (
        {"updateStrategy": daemon_rolling("Other")},
        f'{ROLLING}.rollingUpdateType: Unsupported value: "Other": supported values: "Standard", '
        '"InPlaceIfPossible", "InPlaceOnly"',
    ),
    (
        {"updateStrategy": daemon_rolling(partition=-1)},
        f"{ROLLING}.partition: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        {"updateStrategy": daemon_rolling(selector={"matchLabels": {"a": "b c"}})},
        f'{ROLLING}.selector.matchLabels: Invalid value: "b c": a valid label must be an empty string',
    ),
    (
        {"lifecycle": {"inPlaceUpdate": {"finalizersHandler": ["a/b"]}}},
        "spec.lifecycle.inPlaceUpdate: Forbidden: inPlaceUpdate hook has not supported yet",
    ),
]


@pytest.mark.parametrize(("spec", "cause"), WRONG)
async def test_wrong_sets_are_refused(sets: DaemonSets, spec: dict[str, Any], cause: str) -> None:
    with pytest.raises(ApiError) as caught:
        await sets.create(daemon(**spec))
    assert str(caught.value).startswith('DaemonSet.apps.kruise.io "web" is invalid: ')
    details = caught.value.status.details
    assert details is not None
    found = [f"{each.field_}: {each.message}" for each in details.causes]
    assert [each for each in found if each.startswith(cause)], found


async def test_surging_of_the_older_version_is_a_standard_update(sets: DaemonSets) -> None:
    await sets.create(daemon("v1alpha1", updateStrategy=daemon_rolling("Surging", maxSurge=1)))
    found = (await sets.stored()).spec.rolling
    assert (found.rolling_update_type, found.max_surge, found.max_unavailable) == ("Standard", 1, None)


async def test_misspelled_strategy_is_a_strict_decoding_error(sets: DaemonSets) -> None:
    with pytest.raises(ApiError, match=r'strict decoding error: unknown field "spec\.updateStragegy"'):
        await sets.create(daemon(updateStragegy={"type": "InPlaceOnly"}))


async def test_in_place_only_refuses_all_changes_but_images(sets: DaemonSets) -> None:
    await sets.create(daemon(updateStrategy={"type": "InPlaceOnly"}))
    await sets.change("web:2")
    with pytest.raises(ApiError) as caught:
        await sets.change("web:2", hostNetwork=True)
    assert str(caught.value) == (
        'DaemonSet.apps.kruise.io "web" is invalid: spec.template: Forbidden: invalid template modified with '
        "InPlaceOnly strategy: add /hostNetwork, currently only image update is allowed for InPlaceOnly"
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_selector_cannot_be_changed(sets: DaemonSets, version: str) -> None:
    """``TestValidateDaemonSetUpdate``, whose message names the fields that may be changed."""
    await sets.create(daemon())
    both = {"app": "web", "tier": "x"}
    labelled = {**template(), "metadata": {"labels": both}}
    text = (
        "spec: Forbidden: updates to daemonset spec for fields other than 'BurstReplicas', 'template', "
        "'lifecycle', 'updateStrategy', 'minReadySeconds', and 'revisionHistoryLimit' are forbidden"
    )
    with pytest.raises(ApiError, match=text):
        await sets.patch(version, selector={"matchLabels": both}, template=labelled)
