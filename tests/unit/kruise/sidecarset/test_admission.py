"""Admission of SidecarSets: defaults, hashes and refusals, in both versions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling_kruise.sidecarset.annotations import SET_HASH, SET_HASH_WITHOUT_IMAGE
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.sidecar_sets import change_set, create, get_set, sidecar_set


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


async def test_defaults_are_filled_in(kruise: Kruise) -> None:
    revision = {"customVersion": "x"}
    init = [{"name": "init", "image": "init:1"}]
    await create(kruise, sidecar_set(initContainers=init, volumes=[{"name": "v", "emptyDir": {}}]))
    spec = (await get_set(kruise)).spec
    strategy = spec.update_strategy
    assert (strategy.type, strategy.partition, strategy.max_unavailable) == ("RollingUpdate", 0, 1)
    assert spec.revision_history_limit == 10
    (container,) = spec.containers
    assert container.pod_inject_policy == "BeforeAppContainer"
    assert container.upgrade_strategy.upgrade_type == "ColdUpgrade"
    assert container.share_volume_policy.type == "disabled"
    assert container.image_pull_policy == "IfNotPresent"
    assert container.termination_message_path == "/dev/termination-log"
    assert spec.init_containers[0].pod_inject_policy == "AfterAppContainer"
    with pytest.raises(ApiError, match="Cannot find specific ControllerRevision"):
        await change_set(kruise, injectionStrategy={"revision": revision})


async def test_changed_image_has_another_hash_of_one_kind_only(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    found = []
    for containers in (
        [{"name": "agent", "image": "agent:1"}],
        [{"name": "agent", "image": "agent:2"}],
        [{"name": "agent", "image": "agent:2", "args": ["x"]}],
    ):
        await change_set(kruise, containers=containers)
        annotations = (await get_set(kruise)).metadata.annotations
        found.append((annotations[SET_HASH], annotations[SET_HASH_WITHOUT_IMAGE]))
    assert len({whole for whole, _ in found}) == 3
    assert found[0][1] == found[1][1] != found[2][1]


async def test_older_version_has_namespace_and_custom_version_elsewhere(kruise: Kruise) -> None:
    plain = sidecar_set(version="v1alpha1", namespace="default")
    plain["metadata"]["labels"] = {"apps.kruise.io/sidecarset-custom-version": "one"}
    await create(kruise, plain)
    found = await get_set(kruise)
    assert found.spec.custom_version == "one"
    assert found.spec.namespace_selector is not None
    assert found.spec.namespace_selector.match_labels == {"kubernetes.io/metadata.name": "default"}
    older = kruise.plane.server.catalogue.by_path("apps.kruise.io", "v1alpha1", "sidecarsets")
    assert older is not None
    held = await kruise.plane.client.get(older.type, "sidecars")
    assert held.metadata.labels == {"apps.kruise.io/sidecarset-custom-version": "one"}
    assert "customVersion" not in held.content["spec"]


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "a", **more}


def transfer(path: str) -> list[dict[str, Any]]:
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
    return [named("agent", transferEnv=[{"sourceContainerNameFrom": reference, "envName": "A"}])]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"selector": None}, "spec.selector: Required value: no selector defined for SidecarSet"),
    ({"selector": {}}, "spec.selector: Invalid value: .*: empty selector is not valid for sidecarset."),
    (
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        r'spec.selector.matchExpressions\[0\].operator: Invalid value: "Is": not a valid selector operator',
    ),
    ({"namespaceSelector": {}}, "spec.namespaceSelector: Invalid value: .*: empty selector is not valid"),
    ({"containers": []}, "spec: Required value: no initContainer or container defined for SidecarSet"),
    ({"containers": [{"name": "Agent_1", "image": "a"}]}, r"spec.containers\[0\].name: Invalid value"),
    ({"containers": [named("a", volumeMounts=[{"name": "x", "mountPath": "/x"}])]}, 'Not found: "x"'),
    ({"containers": [named("a", podInjectPolicy="Between")]}, "unsupported pod inject policy"),
    (
        {"containers": [named("a", shareVolumePolicy={"type": "some"})]},
        "unsupported share volume policy",
    ),
    ({"containers": transfer("metadata.name")}, "field label not supported: metadata.name"),
    ({"containers": transfer("spec.x['y']")}, "field path not supported: spec.x"),
    ({"containers": transfer("metadata.labels['-']")}, "name part must consist of alphanumeric"),
    ({"updateStrategy": {"type": "Recreate"}}, "must be 'RollingUpdate' or 'NotUpdate'"),
    (
        {"updateStrategy": {"partition": 2, "selector": {"matchLabels": {"a": "b"}}}},
        "Partition and Selector cannot be used together",
    ),
    (
        {"updateStrategy": {"partition": -1}},
        "partition: Invalid value: -1: must be greater than or equal to 0",
    ),
    (
        {"updateStrategy": {"maxUnavailable": "x"}},
        'spec.updateStrategy.maxUnavailable: Invalid value: "x": a valid percent string must be a numeric',
    ),
    (
        {"updateStrategy": {"scatterStrategy": [{"key": "", "value": "x"}]}},
        "scatterStrategy: Required value: key should not be empty",
    ),
    (
        {"updateStrategy": {"priorityStrategy": {"orderPriority": [{"orderedKey": ""}]}}},
        "priorityStrategy: Required value: order key can not be empty",
    ),
    (
        {"injectionStrategy": {"revision": {}}},
        "revisionName and customVersion cannot be empty simultaneously",
    ),
    (
        {"initContainers": [named("init", restartPolicy="Always")]},
        "The initContainer in-place upgrade is not currently supported.",
    ),
    (
        {"patchPodMetadata": [{"annotations": {"a": "b"}}]},
        "patchPodMetadata: Required value: SidecarSet patch metadata whitelist not found",
    ),
    (
        {"patchPodMetadata": [{"annotations": {"a b": "c"}}]},
        'patchPodMetadata.annotations: Invalid value: "a b": name part must consist of alphanumeric',
    ),
    ({"volumes": [{"name": "v"}, {"name": "v"}]}, r"spec.volumes\[1\].name: Duplicate value"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
async def test_invalid_sets_are_refused(kruise: Kruise, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError, match=message) as refusal:
        await create(kruise, sidecar_set(**spec))
    assert refusal.value.status.code == 422


async def test_unknown_fields_of_containers_are_refused_or_warned_of(kruise: Kruise) -> None:
    plain = sidecar_set(containers=[named("agent", imagePolicy="x")])
    with pytest.raises(
        ApiError, match=r'strict decoding error: unknown field "spec.containers\[0\].imagePolicy"'
    ):
        await create(kruise, plain)
    warnings = await create(kruise, plain, "Warn")
    assert warnings == ['unknown field "spec.containers[0].imagePolicy"']


async def test_containers_cannot_be_added_or_updated_in_another_way(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    with pytest.raises(ApiError, match="container other is not found"):
        await change_set(kruise, containers=[named("agent"), named("other")])
    hot = {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "e"}
    with pytest.raises(ApiError, match="container agent upgradeType is immutable"):
        await change_set(kruise, containers=[named("agent", upgradeStrategy=hot)])


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("kind", ["InPlaceIfPossible", "InPlaceOnly", "ReCreate"])
async def test_policy_may_be_the_type_of_the_strategy(kruise: Kruise, version: str, kind: str) -> None:
    await create(kruise, sidecar_set(version=version, updateStrategy={"type": kind}))
    assert (await get_set(kruise)).spec.update_strategy.type == kind


async def test_misspelled_strategy_is_a_strict_decoding_error(kruise: Kruise) -> None:
    with pytest.raises(ApiError, match=r'strict decoding error: unknown field "spec\.updateStragegy"'):
        await create(kruise, sidecar_set(updateStragegy={"type": "InPlaceOnly"}))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            {"containers": [named("agent", image="agent:2", env=[{"name": "A", "value": "b"}])]},
            ", but found add /containers/0/env",
        ),
        (
            {"containers": [named("agent", image="agent:2")], "volumes": [{"name": "v", "emptyDir": {}}]},
            ", but found add /volumes",
        ),
        ({"containers": [named("agent", image="agent:2", podInjectPolicy="AfterAppContainer")]}, ""),
    ],
)
async def test_in_place_only_refuses_all_changes_but_images(
    kruise: Kruise, change: dict[str, Any], found: str
) -> None:
    await create(kruise, sidecar_set(updateStrategy={"type": "InPlaceOnly"}))
    await change_set(kruise, containers=[named("agent", image="agent:2")])
    with pytest.raises(ApiError) as caught:
        await change_set(kruise, **change)
    text = f"spec: Forbidden: only allowed to update images in spec for InPlaceOnly{found}"
    assert str(caught.value) == f'SidecarSet.apps.kruise.io "sidecars" is invalid: {text}'
    await change_set(kruise, updateStrategy={"type": "InPlaceIfPossible"}, **change)


VOLUMES = [{"name": "v", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({}, "container agent already exist in sidecars"),
        (
            {"containers": [named("x")], "volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            "volume v is in",
        ),
        ({"containers": [named("x")], "volumes": VOLUMES}, ""),
        ({"selector": {"matchLabels": {"app": "other"}}}, ""),
        ({"namespaceSelector": {"matchLabels": {"team": "b"}}}, ""),
    ],
)
async def test_sets_that_may_select_the_same_pods_must_not_conflict(
    kruise: Kruise, other: dict[str, Any], message: str
) -> None:
    place = {"matchLabels": {"team": "a"}}
    await create(kruise, sidecar_set(namespaceSelector=place, volumes=VOLUMES))
    if not message:
        await create(kruise, sidecar_set("other", **other))
        return
    with pytest.raises(ApiError, match=message):
        await create(kruise, sidecar_set("other", **other))


@pytest.mark.parametrize(
    ("base", "strategy", "message"),
    [
        ("canary", {"type": "NotUpdate"}, "base sidecarSet cannot be itself"),
        ("missing", {"type": "NotUpdate"}, r"fetch base sidecarSet\[missing\] failed"),
        ("sidecars", {"type": "RollingUpdate"}, "RollingUpdate is not supported for canary sidecarSet"),
    ],
)
async def test_wrong_canaries_are_refused(
    kruise: Kruise, base: str, strategy: dict[str, Any], message: str
) -> None:
    await create(kruise, sidecar_set())
    plain = sidecar_set("canary", updateStrategy=strategy)
    plain["metadata"]["annotations"] = {
        "apps.kruise.io/sidecarset-canary": "true",
        "apps.kruise.io/sidecarset-base": base,
    }
    with pytest.raises(ApiError, match=message):
        await create(kruise, plain)


def canary(name: str, base: str, **spec: Any) -> dict[str, Any]:
    """Return a canary of the SidecarSet ``base``."""
    plain = sidecar_set(name, updateStrategy={"type": "NotUpdate"}, **spec)
    plain["metadata"]["annotations"] = {
        "apps.kruise.io/sidecarset-canary": "true",
        "apps.kruise.io/sidecarset-base": base,
    }
    return plain


async def test_base_of_a_canary_is_no_canary_and_stays(kruise: Kruise) -> None:
    """``TestValidateSidecarSetCanaryAnnotations``: the cases of an update, and of a canary's canary."""
    await create(kruise, sidecar_set())
    await create(kruise, sidecar_set("other", containers=[named("x")]))
    await create(kruise, canary("canary", "sidecars"))
    await change_set(kruise, "canary", containers=[named("agent", image="agent:2")])
    with pytest.raises(ApiError, match="base sidecarSet cannot be canary"):
        await create(kruise, canary("second", "canary"))
    moved = {"metadata": {"annotations": {"apps.kruise.io/sidecarset-base": "other"}}}
    with pytest.raises(ApiError, match=r"annotations\[apps.kruise.io/sidecarset-base\] is immutable"):
        await kruise.client.patch(SidecarSet, "canary", moved)


@pytest.mark.parametrize(
    ("one", "other", "conflicts"),
    [
        (("Overwrite", "key1"), ("MergePatchJson", "key1"), True),
        (("Retain", "key1"), ("Overwrite", "key2"), False),
        (("Retain", "key1"), ("Overwrite", "key1"), False),
        (("MergePatchJson", "key1"), ("MergePatchJson", "key1"), False),
    ],
)
async def test_annotations_of_two_sets_must_not_overwrite_each_other(
    one: tuple[str, str], other: tuple[str, str], conflicts: bool
) -> None:
    """``TestSidecarSetPodMetadataConflict``."""
    async with kruise_api(SidecarSetPatchPodMetadataDefaultsAllowed=True) as kruise:
        sets = [
            sidecar_set(
                name,
                containers=[named(name)],
                patchPodMetadata=[{"annotations": {key: "{}"}, "patchPolicy": policy}],
            )
            for name, (policy, key) in (("a", one), ("b", other))
        ]
        await create(kruise, sets[0])
        if not conflicts:
            await create(kruise, sets[1])
            return
        with pytest.raises(ApiError, match="annotation key1 is in conflict with sidecarset a"):
            await create(kruise, sets[1])


async def test_name_is_short_and_has_no_dots(kruise: Kruise) -> None:
    with pytest.raises(ApiError, match="sidecarset name must consist of alphanumeric characters"):
        await create(kruise, sidecar_set("a.b"))
    await create(kruise, sidecar_set("x" * 63))
    assert (await kruise.client.list(SidecarSet)).items
