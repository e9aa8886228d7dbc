"""Admission of CloneSets: defaults and refusals, in both versions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from tests.support.clone_sets import Kruise, kruise_api, manifest, template

ONLY = {"type": "InPlaceOnly"}


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


def beta(policy: str, **rolling: Any) -> dict[str, Any]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": policy, **rolling}}
    return manifest("v1beta1", updateStrategy=strategy)


async def test_defaults_are_filled_in(kruise: Kruise) -> None:
    plain = manifest(updateStrategy={"type": "InPlaceIfPossible"})
    del plain["spec"]["replicas"]
    await kruise.create(plain)
    spec = (await kruise.get()).spec
    assert (spec.replicas, spec.revision_history_limit) == (1, 10)
    rolling = spec.rolling
    assert (rolling.partition, rolling.max_unavailable, rolling.max_surge) == (0, "20%", 0)
    assert rolling.pod_update_policy == "InPlaceIfPossible"
    assert rolling.in_place_update_strategy is not None
    assert spec.template.spec.dns_policy == "ClusterFirst"
    assert spec.scale_strategy.enable_pvc_reuse


async def test_recreate_is_the_default_of_both_versions(kruise: Kruise) -> None:
    await kruise.create(manifest())
    assert (await kruise.get()).spec.rolling.pod_update_policy == "ReCreate"
    newer = await kruise.plane.client.get(kruise.kind("v1beta1"), "web", "default")
    assert newer.content["spec"]["updateStrategy"]["type"] == "RollingUpdate"


@pytest.mark.parametrize("kind", ["InPlaceIfPossible", "InPlaceOnly", "ReCreate"])
async def test_types_of_the_older_version_are_policies_of_the_newer(kruise: Kruise, kind: str) -> None:
    await kruise.create(manifest(updateStrategy={"type": kind}))
    newer = await kruise.plane.client.get(kruise.kind("v1beta1"), "web", "default")
    assert newer.content["spec"]["updateStrategy"]["rollingUpdate"]["podUpdatePolicy"] == kind
    older = await kruise.plane.client.get(kruise.kind(), "web", "default")
    assert older.content["spec"]["updateStrategy"]["type"] == kind


@pytest.mark.parametrize("kind", ["InPlaceIfPossible", "InPlaceOnly", "ReCreate"])
async def test_policy_may_be_the_type_of_the_newer_version(kruise: Kruise, kind: str) -> None:
    await kruise.create(manifest("v1beta1", updateStrategy={"type": kind}))
    strategy = (await kruise.get()).spec.update_strategy
    assert strategy.rolling_update is not None
    assert (strategy.type, strategy.rolling_update.pod_update_policy) == ("RollingUpdate", kind)


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"replicas": -1}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"]),
        (
            {"selector": {}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for cloneset"],
        ),
        (
            {"selector": {"matchLabels": {"app": "other"}}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match '
                "template `labels`"
            ],
        ),
        (
            {"updateStrategy": {"type": "OnDelete"}},
            [
                "spec.updateStrategy.type: Invalid value: \"OnDelete\": must be 'ReCreate', "
                "InPlaceIfPossible or 'InPlaceOnly'"
            ],
        ),
        (
            {"updateStrategy": {**ONLY, "maxSurge": 1}},
            [
                'spec.updateStrategy.maxSurge: Invalid value: "1": can not use maxSurge with strategy type '
                "InPlaceOnly"
            ],
        ),
        (
            {"updateStrategy": {"maxUnavailable": 0}},
            [
                "spec.updateStrategy.maxUnavailable: Invalid value: 0: maxUnavailable and maxSurge should "
                "not both be less than 1"
            ],
        ),
        (
            {"updateStrategy": {"partition": "x"}},
            [
                'spec.updateStrategy.partition: Invalid value: "x": failed '
                "GetScaledValueFromIntOrPercent for partition: invalid value for IntOrString: "
                'invalid type: string is not a percentage: "x"'
            ],
        ),
        (
            {"updateStrategy": {"scatterStrategy": [{"key": "", "value": "x"}]}},
            ["spec.updateStrategy.scatterStrategy: Required value: key should not be empty"],
        ),
        (
            {"updateStrategy": {"priorityStrategy": {"orderPriority": [{"orderedKey": ""}]}}},
            ["spec.updateStrategy.priorityStrategy: Required value: order key can not be empty"],
        ),
        (
            {"minReadySeconds": 10, "progressDeadlineSeconds": 10},
            ["spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds"],
        ),
        (
            {"scaleStrategy": {"podsToDelete": ["a"]}},
            ['spec.scaleStrategy.podsToDelete: Invalid value: "a": find pod a failed: Pod "a" not found'],
        ),
        (
            {"scaleStrategy": {"podsToDelete": ["a", "a"]}},
            ['spec.scaleStrategy.podsToDelete: Invalid value: ["a","a"]: duplicated items [a]'],
        ),
        (
            {"updateStrategy": {"partition": -1}},
            ["spec.updateStrategy.partition: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"updateStrategy": {"maxSurge": "5", "maxUnavailable": 2}},
            [
                'spec.updateStrategy.maxSurge: Invalid value: "5": failed GetScaledValueFromIntOrPercent for '
                "maxSurge: invalid value for IntOrString: invalid type: string is not a percentage: "
                '"5"'
            ],
        ),
        (
            {"updateStrategy": {"maxSurge": 2, "maxUnavailable": "5"}},
            [
                'spec.updateStrategy.maxUnavailable: Invalid value: "5": failed '
                "GetScaledValueFromIntOrPercent for maxUnavailable: invalid value for IntOrString: invalid "
                'type: string is not a percentage: "5"'
            ],
        ),
        (
            {"progressDeadlineSeconds": -1},
            ["spec.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"minReadySeconds": 15, "progressDeadlineSeconds": 10},
            ["spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds"],
        ),
        (
            {"template": template(restartPolicy="Never")},
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
        (
            {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
            ["spec.template.spec.containers: Required value"],
        ),
        (
            {
                "template": template(
                    containers=[
                        {"name": "main", "image": "a", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
                    ]
                )
            },
            ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "d"'],
        ),
    ],
)
async def test_wrong_clone_sets_are_refused(kruise: Kruise, spec: dict[str, Any], causes: list[str]) -> None:
    with pytest.raises(ApiError) as caught:
        await kruise.create(manifest(**spec))
    details = caught.value.status.details
    assert details is not None
    found = [f"{each.field_}: {each.message}" for each in details.causes]
    assert found[: len(causes)] == causes
    assert str(caught.value).startswith('CloneSet.apps.kruise.io "web" is invalid: ')


async def test_pods_named_twice_are_not_looked_up(kruise: Kruise) -> None:
    with pytest.raises(ApiError) as caught:
        await kruise.create(manifest(scaleStrategy={"podsToDelete": ["a", "b", "a"]}))
    assert str(caught.value).endswith('podsToDelete: Invalid value: ["a","b","a"]: duplicated items [a]')


async def test_fields_that_may_be_changed(kruise: Kruise) -> None:
    """The case of ``TestValidate`` with all acceptable changes, but for pods to delete."""

    def claims(size: str) -> list[dict[str, Any]]:
        resources = {"requests": {"storage": size}}
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "foo", "resources": resources}
        return [{"metadata": {"name": "foo"}, "spec": spec}]

    await kruise.create(manifest(minReadySeconds=5, progressDeadlineSeconds=10))
    for size in ("60Gi", "30Gi"):
        await kruise.patch(
            replicas=1,
            template=template("web:2"),
            revisionHistoryLimit=2,
            volumeClaimTemplates=claims(size),
            updateStrategy={"type": "InPlaceOnly", "partition": 2, "maxUnavailable": 1},
            progressDeadlineSeconds=2**31 - 1,
            minReadySeconds=2**31 - 1,
            lifecycle={"preDelete": {"finalizersHandler": ["foo/bar"]}},
        )


async def test_containers_may_mount_the_claims_of_their_pod(kruise: Kruise) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    containers = [{"name": "main", "image": "web:1", "volumeMounts": mounts}]
    await kruise.create(manifest(template=template(containers=containers), volumeClaimTemplates=[claim]))


async def test_misspelled_strategy_is_a_strict_decoding_error(kruise: Kruise) -> None:
    with pytest.raises(ApiError, match=r'strict decoding error: unknown field "spec\.updateStragegy"'):
        await kruise.create(manifest(updateStragegy=ONLY))


async def test_unknown_field_of_a_template_is_a_strict_decoding_error(kruise: Kruise) -> None:
    wrong = template()
    wrong["spec"]["containers"][0]["imagee"] = "x"
    named = r'unknown field "spec\.template\.spec\.containers\[0\]\.imagee"'
    with pytest.raises(ApiError, match=f"strict decoding error: {named}"):
        await kruise.create(manifest(template=wrong))
    assert await kruise.create(manifest(template=wrong), "Warn") == [
        'unknown field "spec.template.spec.containers[0].imagee"'
    ]


@pytest.mark.parametrize(
    "plain",
    [manifest(updateStrategy=ONLY), manifest("v1beta1", updateStrategy=ONLY), beta("InPlaceOnly")],
)
async def test_in_place_only_refuses_all_changes_but_images(kruise: Kruise, plain: dict[str, Any]) -> None:
    await kruise.create(plain)
    await kruise.change("web:2")
    changed = template("web:2")
    changed["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    with pytest.raises(ApiError) as caught:
        await kruise.patch(template=changed)
    assert str(caught.value) == (
        'CloneSet.apps.kruise.io "web" is invalid: spec: Forbidden: only allowed to update images in spec '
        "for InPlaceOnly, but found add /containers/0/env"
    )


async def test_selector_cannot_be_changed(kruise: Kruise) -> None:
    await kruise.create(manifest())
    both = {"app": "web", "tier": "x"}
    labelled = {**template(), "metadata": {"labels": both}}
    with pytest.raises(ApiError, match="updates to cloneset spec for fields other than"):
        await kruise.patch(selector={"matchLabels": both}, template=labelled)


DOWNLOADS: list[tuple[str, Any, str]] = [
    ("imagePreDownloadParallelism", 2, ""),
    ("imagePreDownloadParallelism", 0, ""),
    ("imagePreDownloadParallelism", "50", ""),
    ("imagePreDownloadParallelism", "0", ""),
    ("imagePreDownloadParallelism", None, ""),
    ("imagePreDownloadParallelism", -1, "imagePreDownloadParallelism must be non-negative"),
    ("imagePreDownloadParallelism", "-1", "imagePreDownloadParallelism must be non-negative"),
    ("imagePreDownloadParallelism", "50%", "imagePreDownloadParallelism does not support percentage value"),
    (
        "imagePreDownloadParallelism",
        "abc",
        'must be a valid integer: strconv.ParseInt: parsing "abc": invalid syntax',
    ),
    ("imagePreDownloadParallelism", "2147483648", "valid integer: .* value out of range"),
    ("imagePreDownloadTimeoutSeconds", -1, "must be greater than or equal to 0"),
    ("imagePreDownloadMinUpdatedReadyPods", -1, "must be greater than or equal to 0"),
]


@pytest.mark.parametrize(("field", "value", "message"), DOWNLOADS)
async def test_settings_of_downloads(kruise: Kruise, field: str, value: Any, message: str) -> None:
    """``TestValidateImagePreDownloadParallelism``, and the settings beside it."""
    strategy = {} if value is None else {field: value}
    plain = beta("InPlaceIfPossible", inPlaceUpdateStrategy=strategy)
    if not message:
        await kruise.create(plain)
        return
    with pytest.raises(ApiError, match=f"inPlaceUpdateStrategy.{field}: Invalid value: .*{message}"):
        await kruise.create(plain)


@pytest.mark.parametrize(
    "strategy",
    [
        {"type": "InPlaceIfPossible", "partition": 2, "maxUnavailable": 1, "maxSurge": 1},
        {"type": "InPlaceIfPossible", "partition": 2, "maxUnavailable": 0, "maxSurge": 1},
        {"type": "InPlaceIfPossible", "partition": 2, "maxUnavailable": "120%"},
        {
            "type": "InPlaceIfPossible",
            "priorityStrategy": {
                "weightPriority": [{"weight": 20, "matchSelector": {"matchLabels": {"key": "foo"}}}]
            },
        },
    ],
)
async def test_valid_strategies_are_taken(kruise: Kruise, strategy: dict[str, Any]) -> None:
    """The cases of ``TestValidate`` that succeed."""
    await kruise.create(manifest(updateStrategy=strategy))
