"""Injection into new pods, through the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ConfigMap, Namespace, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling_kruise.sidecarset.annotations import INJECTED_LIST, SET_HASH, SET_HASH_WITHOUT_IMAGE, SET_NAME
from podling_kruise.sidecarset.types import SidecarSet
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.sidecar_sets import change_set, create, get_set, images, names, pod, sidecar_set


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"{name}:1", **more}


async def test_pod_gets_the_containers_of_the_sets_that_select_it(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await create(kruise, sidecar_set("other", selector={"matchLabels": {"app": "db"}}))
    made = await kruise.client.create(pod())
    assert names(made) == ["agent", "main"]
    assert made.metadata.annotations[INJECTED_LIST] == "sidecars"
    sidecar = made.spec.containers[0]
    assert [(each.name, each.value) for each in sidecar.env] == [("IS_INJECTED", "true")]
    assert sidecar.image_pull_policy == "IfNotPresent"
    assert names(await kruise.client.create(pod("cache", labels={"app": "cache"}))) == ["main"]


async def test_annotations_record_the_hashes_of_the_set(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    made = await kruise.client.create(pod())
    owner = await get_set(kruise)
    for name in (SET_HASH, SET_HASH_WITHOUT_IMAGE):
        record = msgspec.json.decode(made.metadata.annotations[name])["sidecars"]
        assert record["hash"] == owner.metadata.annotations[name]
        assert (record["sidecarSetName"], record["sidecarList"]) == ("sidecars", ["agent"])


async def test_containers_come_before_or_after_those_of_the_pod(kruise: Kruise) -> None:
    containers = [
        container("late", podInjectPolicy="AfterAppContainer"),
        container("early", podInjectPolicy="BeforeAppContainer"),
        container("default"),
    ]
    await create(kruise, sidecar_set(containers=containers))
    await create(kruise, sidecar_set("more", containers=[container("more")]))
    made = await kruise.client.create(pod())
    assert names(made) == ["more", "early", "default", "main", "late"]


async def test_container_of_the_pod_with_the_same_name_is_replaced_in_its_place(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    given = [container("main"), container("agent", image="mine"), container("last")]
    made = await kruise.client.create(pod(containers=given))
    assert images(made) == {"main": "main:1", "agent": "agent:1", "last": "last:1"}


async def test_init_containers_come_last_in_the_order_of_names(kruise: Kruise) -> None:
    await create(kruise, sidecar_set(initContainers=[container("b"), container("a")]))
    made = await kruise.client.create(pod(initContainers=[container("z")]))
    assert [each.name for each in made.spec.init_containers] == ["z", "a", "b"]


async def test_only_mounted_volumes_and_missing_secrets_are_added(kruise: Kruise) -> None:
    mounts = [{"name": "logs", "mountPath": "/logs"}]
    devices = [{"name": "disk", "devicePath": "/dev/disk"}]
    spec: dict[str, Any] = {
        "containers": [container("agent", volumeMounts=mounts, volumeDevices=devices)],
        "volumes": [
            {"name": "logs", "emptyDir": {}},
            {"name": "unused", "emptyDir": {}},
            {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
        ],
        "imagePullSecrets": [{"name": "s0"}, {"name": "s1"}],
    }
    await create(kruise, sidecar_set(**spec))
    made = await kruise.client.create(pod(imagePullSecrets=[{"name": "s1"}, {"name": "own"}]))
    volumes = [each.name for each in made.spec.volumes if not each.name.startswith("kube-api")]
    assert volumes == ["logs", "disk"]
    assert [each.name for each in made.spec.image_pull_secrets] == ["s1", "own", "s0"]


async def test_variables_and_mounts_of_other_containers_are_shared(kruise: Kruise) -> None:
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['app']"}}
    agent = container(
        "agent",
        shareVolumePolicy={"type": "enabled"},
        volumeMounts=[{"name": "own", "mountPath": "/data"}],
        env=[{"name": "KEPT", "value": "mine"}],
        transferEnv=[
            {"sourceContainerName": "main", "envNames": ["KEPT", "B", "A", "MISSING"]},
            {"sourceContainerNameFrom": source, "envName": "C"},
        ],
    )
    await create(kruise, sidecar_set(containers=[agent], volumes=[{"name": "own", "emptyDir": {}}]))
    variables = [{"name": name, "value": name.lower()} for name in ("A", "B", "KEPT", "NODE")]
    mounts = [
        {"name": "data", "mountPath": "/data"},
        {"name": "logs", "mountPath": "/logs", "subPathExpr": "x/$(NODE)"},
    ]
    web = container("web", env=[{"name": "C", "value": "c"}])
    given = pod(
        containers=[container("main", env=variables, volumeMounts=mounts), web],
        volumes=[{"name": name, "emptyDir": {}} for name in ("data", "logs")],
    )
    made = (await kruise.client.create(given)).spec.containers[0]
    assert [(each.name, each.value) for each in made.env] == [
        ("KEPT", "mine"),
        ("IS_INJECTED", "true"),
        ("A", "a"),
        ("B", "b"),
        ("C", "c"),
        ("NODE", "node"),
    ]
    paths = [(each.name, each.mount_path) for each in made.volume_mounts]
    assert [each for each in paths if "serviceaccount" not in each[1]] == [
        ("own", "/data"),
        ("logs", "/logs"),
    ]


async def test_devices_are_shared_where_the_policy_says_so(kruise: Kruise) -> None:
    policy = {"type": "enabled"}
    containers = [container("one", shareVolumeDevicePolicy=policy), container("two")]
    await create(kruise, sidecar_set(containers=containers))
    devices = [{"name": "disk", "devicePath": "/dev/x"}]
    volumes = [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}]
    given = pod(containers=[container("main", volumeDevices=devices)], volumes=volumes)
    made = await kruise.client.create(given)
    shared = {each.name: [one.device_path for one in each.volume_devices] for each in made.spec.containers}
    assert shared == {"one": ["/dev/x"], "two": [], "main": ["/dev/x"]}


HOT = {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"}


async def test_sidecar_with_hot_upgrades_is_two_containers(kruise: Kruise) -> None:
    await create(kruise, sidecar_set(containers=[container("mesh", upgradeStrategy=HOT)]))
    made = await kruise.client.create(pod())
    assert images(made) == {"mesh-1": "mesh:1", "mesh-2": "empty:1", "main": "web:1"}
    annotations = made.metadata.annotations
    assert annotations["kruise.io/sidecarset-working-hotupgrade-container"] == '{"mesh":"mesh-1"}'
    versions = {key: text for key, text in annotations.items() if "sidecarset.kruise.io" in key}
    assert versions == {
        "version.sidecarset.kruise.io/mesh-1": "1",
        "versionalt.sidecarset.kruise.io/mesh-1": "0",
        "version.sidecarset.kruise.io/mesh-2": "0",
        "versionalt.sidecarset.kruise.io/mesh-2": "1",
    }
    variables = {each.name: each.value_from for each in made.spec.containers[0].env}
    version = variables["SIDECARSET_VERSION"]
    assert version is not None
    assert version.field_ref is not None
    path = "metadata.annotations['version.sidecarset.kruise.io/mesh-1']"
    assert version.field_ref.field_path == path
    assert "SIDECARSET_VERSION_ALT" in variables


@pytest.mark.parametrize(
    ("version", "places", "injected"),
    [
        ("v1alpha1", {"namespace": "default"}, True),
        ("v1alpha1", {"namespace": "other"}, False),
        ("v1beta1", {"namespaceSelector": {"matchLabels": {"team": "a"}}}, True),
        ("v1beta1", {"namespaceSelector": {"matchLabels": {"team": "b"}}}, False),
        ("v1beta1", {"injectionStrategy": {"paused": True}}, False),
    ],
)
async def test_namespaces_and_pause_decide_about_injection(
    kruise: Kruise, version: str, places: Mapping[str, Any], injected: bool
) -> None:
    await kruise.client.patch(Namespace, "default", {"metadata": {"labels": {"team": "a"}}})
    await create(kruise, sidecar_set(version=version, **places))
    assert names(await kruise.client.create(pod())) == (["agent", "main"] if injected else ["main"])


async def test_set_of_the_namespace_comes_before_those_of_all(kruise: Kruise) -> None:
    await create(kruise, sidecar_set("a", containers=[container("a")]))
    place = {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["default"]}]
    }
    await create(kruise, sidecar_set("b", containers=[container("b")], namespaceSelector=place))
    assert names(await kruise.client.create(pod())) == ["b", "a", "main"]


async def test_canary_takes_the_place_of_its_base(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    strategy = {"type": "NotUpdate"}
    canary = sidecar_set("canary", updateStrategy=strategy, containers=[container("agent", image="agent:2")])
    canary["metadata"]["annotations"] = {
        "apps.kruise.io/sidecarset-canary": "true",
        "apps.kruise.io/sidecarset-base": "sidecars",
    }
    await create(kruise, canary)
    made = await kruise.client.create(pod())
    assert images(made) == {"agent": "agent:2", "main": "web:1"}
    assert made.metadata.annotations[INJECTED_LIST] == "canary"


async def test_changed_set_is_injected_in_its_new_form_and_a_deleted_one_not_at_all(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    assert images(await kruise.client.create(pod("a")))["agent"] == "agent:1"
    await change_set(kruise, containers=[{"name": "agent", "image": "agent:2"}])
    assert images(await kruise.client.create(pod("b")))["agent"] == "agent:2"
    await kruise.client.delete(SidecarSet, "sidecars")
    assert names(await kruise.client.create(pod("c"))) == ["main"]


async def test_pods_get_annotations_by_the_policy_of_each_patch(kruise: Kruise) -> None:
    rules = {"rules": [{"allowedAnnotationKeyExprs": ["^example.com/"]}]}
    plain = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kruise-configuration", "namespace": "kruise-system"},
        "data": {"SidecarSet_PatchPodMetadata_WhiteList": msgspec.json.encode(rules).decode()},
    }
    await kruise.client.create(codec.from_plain(plain, ConfigMap))
    patches = [
        {"annotations": {"example.com/retained": "new", "example.com/added": "new"}},
        {"annotations": {"example.com/overwritten": "new"}, "patchPolicy": "Overwrite"},
        {"annotations": {"example.com/merged": '{"b": 2}'}, "patchPolicy": "MergePatchJson"},
    ]
    await create(kruise, sidecar_set(patchPodMetadata=patches))
    given = {"retained": "old", "overwritten": "old", "merged": '{"a":1}'}
    one = pod()
    annotations = {f"example.com/{key}": text for key, text in given.items()}
    one = msgspec.structs.replace(
        one, metadata=msgspec.structs.replace(one.metadata, annotations=annotations)
    )
    made = await kruise.client.create(one)
    found = {key: text for key, text in made.metadata.annotations.items() if key.startswith("example.com/")}
    assert found == {
        "example.com/retained": "old",
        "example.com/added": "new",
        "example.com/overwritten": "new",
        "example.com/merged": '{"a":1,"b":2}',
    }
    broken = msgspec.structs.replace(
        pod("broken"),
        metadata=ObjectMeta(
            name="broken", namespace="default", labels={"app": "web"}, annotations={"example.com/merged": "{"}
        ),
    )
    with pytest.raises(ApiError, match=r"annotation example\.com/merged cannot be merged"):
        await kruise.client.create(broken)


async def test_pod_that_exists_is_not_injected(kruise: Kruise) -> None:
    await kruise.client.create(pod())
    await create(kruise, sidecar_set())
    changed = await kruise.client.patch(Pod, "web", {"metadata": {"labels": {"more": "x"}}}, "default")
    assert names(changed) == ["main"]
    assert SET_NAME not in changed.metadata.annotations


@pytest.mark.parametrize("is_open", [False, True], ids=["gate is off", "gate is on"])
async def test_containers_are_sorted_by_name_where_the_gate_says_so(is_open: bool) -> None:
    async with kruise_api(EnableSortSidecarContainerByName=is_open) as kruise:
        sidecars = [container(name, image=name) for name in ("nginx", "envoy", "log-agent")]
        await create(kruise, sidecar_set(containers=sidecars))
        made = await kruise.client.create(pod())
        order = ["envoy", "log-agent", "nginx"] if is_open else ["nginx", "envoy", "log-agent"]
        assert names(made) == [*order, "main"]


async def test_pods_of_the_system_get_sidecars_too_unless_a_selector_excludes_them(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    key = "kubernetes.io/metadata.name"
    others = {"matchExpressions": [{"key": key, "operator": "NotIn", "values": ["kube-system"]}]}
    for selector, expected in ((None, ["agent", "main"]), (others, ["main"])):
        await change_set(kruise, namespaceSelector=selector)
        one = pod(f"p-{len(expected)}")
        metadata = msgspec.structs.replace(one.metadata, namespace="kube-system")
        made = await kruise.client.create(msgspec.structs.replace(one, metadata=metadata))
        assert names(made) == expected
