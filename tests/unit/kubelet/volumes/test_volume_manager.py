"""Volumes and environments of pods, with files written below a temporary directory."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import ConfigMap, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.config import KubeletConfig
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node, unmount_volumes


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), cluster_dns=("10.96.0.10",), resolv_conf=None, write_files=True
    )
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found
    unmount_volumes(tmp_path)


async def config_map(node: SimNode, name: str = "settings", **data: str) -> ConfigMap:
    metadata = ObjectMeta(name=name, namespace="default")
    return await node.client.create(ConfigMap(metadata=metadata, data=data))


def with_volume(volume: dict[str, Any], **mount: Any) -> Pod:
    container = {
        "name": "app",
        "image": "app:1",
        "volumeMounts": [{"name": "files", "mountPath": "/files", **mount}],
    }
    return pod(containers=[container], volumes=[{"name": "files", **volume}])


async def volume(node: SimNode, plugin: str) -> Path:
    uid = (await node.get()).metadata.uid or ""
    return node.deps.root_dir / "pods" / uid / "volumes" / f"kubernetes.io~{plugin}" / "files"


async def test_a_config_map_is_a_directory_of_files(node: SimNode) -> None:
    await config_map(node, one="1", two="2")
    items = [{"key": "two", "path": "deep/two.txt", "mode": 0o400}]
    await node.create(with_volume({"configMap": {"name": "settings", "items": items}}))
    await node.pass_time(1)
    path = await volume(node, "configmap")
    assert (path / "deep/two.txt").read_text() == "2"
    assert (path / "deep/two.txt").stat().st_mode & 0o777 == 0o400
    assert sorted(found.name for found in path.iterdir() if not found.name.startswith("..")) == ["deep"]
    assert (path / "deep").is_symlink()


async def test_a_config_map_that_changes_changes_the_files(node: SimNode) -> None:
    created = await config_map(node, key="old")
    await node.create(with_volume({"configMap": {"name": "settings"}}))
    await node.pass_time(1)
    await node.client.update(structs.replace(created, data={"key": "new", "more": "x"}))
    await node.pass_time(0.5)
    path = await volume(node, "configmap")
    assert {name: (path / name).read_text() for name in ("key", "more")} == {"key": "new", "more": "x"}


async def test_a_pod_waits_for_its_config_map(node: SimNode) -> None:
    await node.create(with_volume({"configMap": {"name": "settings"}}))
    await node.pass_time(10)
    found = await node.get()
    (status,) = found.status.container_statuses
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "ContainerCreating"
    ready = {held.type: held.status for held in found.status.conditions}
    assert ready["PodReadyToStartContainers"] == "False"
    recorded = 'FailedMount: MountVolume.SetUp failed for volume "files" : configmap "settings" not found'
    assert recorded in await node.events()
    await node.pass_time(600)  # the intervals between tries have grown to two minutes
    await config_map(node, key="value")
    await node.pass_time(0.5)
    assert (await node.get()).status.phase == "Running"


async def test_pod_without_files_starts_once_its_config_map_is_there(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """A node without files (a simulated one) keeps nothing up to date, and waits nevertheless."""
    async with sim_node(cluster, tmp_path, Scenario()) as node:
        await node.create(with_volume({"configMap": {"name": "settings"}}))
        await node.pass_time(600)
        assert (await node.get()).status.phase == "Pending"
        await config_map(node, key="value")
        await node.pass_time(0.5)
        assert (await node.get()).status.phase == "Running"


async def test_pod_waits_for_a_key_of_its_secret(node: SimNode) -> None:
    items = [{"key": "password", "path": "hidden"}]
    metadata = ObjectMeta(name="login", namespace="default")
    created = await node.client.create(Secret(metadata=metadata, data={"user": "eA=="}))
    await node.create(with_volume({"secret": {"secretName": "login", "items": items}}))
    await node.pass_time(600)
    text = 'MountVolume.SetUp failed for volume "files" : references non-existent secret key: password'
    assert f"FailedMount: {text}" in await node.events()
    await node.client.update(structs.replace(created, data={"password": "eA=="}))
    await node.pass_time(0.5)
    assert (await node.get()).status.phase == "Running"


async def test_an_optional_secret_may_be_missing_and_come_later(node: SimNode) -> None:
    await node.create(with_volume({"secret": {"secretName": "late", "optional": True}}))
    await node.pass_time(1)
    assert (await node.get()).status.phase == "Running"
    path = await volume(node, "secret")
    assert [found.name for found in path.iterdir() if not found.name.startswith("..")] == []
    metadata = ObjectMeta(name="late", namespace="default")
    await node.client.create(Secret(metadata=metadata, data={"key": "eA=="}))
    await node.pass_time(0.5)
    assert (path / "key").read_text() == "x"


async def test_files_of_a_deleted_config_map_stay(node: SimNode) -> None:
    await config_map(node, key="value")
    await node.create(with_volume({"configMap": {"name": "settings"}}))
    await node.pass_time(1)
    await node.client.delete(ConfigMap, "settings", "default")
    await node.pass_time(1)
    path = await volume(node, "configmap")
    assert (path / "key").read_text() == "value"
    await config_map(node, key="again")
    await node.pass_time(0.5)
    assert (path / "key").read_text() == "again"
    assert (await node.get()).status.phase == "Running"


async def test_downward_api_files_show_fields_of_the_pod(node: SimNode) -> None:
    """All labels or all annotations have one line each, sorted, and quoted."""
    fields = {
        "name": "metadata.name",
        "namespace": "metadata.namespace",
        "uid": "metadata.uid",
        "labels": "metadata.labels",
        "annotations": "metadata.annotations",
        "tier": "metadata.labels['tier']",
        "note": "metadata.annotations['note']",
    }
    files = [{"path": path, "fieldRef": {"fieldPath": field}} for path, field in fields.items()]
    subject = with_volume({"downwardAPI": {"items": files}})
    note = 'two\nlines "quoted" and a \\'
    metadata = structs.replace(
        subject.metadata, labels={"tier": "front", "app": "web"}, annotations={"note": note, "more": ""}
    )
    created = await node.create(structs.replace(subject, metadata=metadata))
    await node.pass_time(1)
    path = await volume(node, "downward-api")
    assert {name: (path / name).read_text() for name in fields} == {
        "name": "web",
        "namespace": "default",
        "uid": created.metadata.uid,
        "labels": 'app="web"\ntier="front"',
        "annotations": 'more=""\nnote="two\\nlines \\"quoted\\" and a \\\\"',
        "tier": "front",
        "note": note,
    }


async def test_the_downward_api_follows_labels(node: SimNode) -> None:
    files = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "app", "resource": "limits.cpu"}},
    ]
    await node.create(with_volume({"downwardAPI": {"items": files}}))
    await node.pass_time(1)
    path = await volume(node, "downward-api")
    assert (path / "name").read_text() == "web"
    assert (path / "labels").read_text() == ""
    assert int((path / "cpu").read_text()) >= 1, "without a limit the node's allocatable amount is shown"
    await node.client.patch(Pod, "web", {"metadata": {"labels": {"tier": "front"}}}, "default")
    await node.pass_time(1)
    assert (path / "labels").read_text() == 'tier="front"'


async def test_projected_sources_share_a_directory(node: SimNode) -> None:
    await config_map(node, key="value")
    data = {"password": base64.b64encode(b"hush").decode()}
    metadata = ObjectMeta(name="login", namespace="default")
    await node.client.create(Secret(metadata=metadata, data=data))
    sources = [
        {"configMap": {"name": "settings"}},
        {"secret": {"name": "login", "items": [{"key": "password", "path": "hidden"}]}},
        {"downwardAPI": {"items": [{"path": "uid", "fieldRef": {"fieldPath": "metadata.uid"}}]}},
    ]
    await node.create(with_volume({"projected": {"sources": sources}}))
    await node.pass_time(1)
    path = await volume(node, "projected")
    assert (path / "key").read_text() == "value"
    assert (path / "hidden").read_text() == "hush"
    assert (path / "uid").read_text() == (await node.get()).metadata.uid


async def test_empty_dir_lasts_as_long_as_its_pod(node: SimNode) -> None:
    container = {
        "name": "app",
        "image": "app:1",
        "volumeMounts": [{"name": "files", "mountPath": "/f", "subPath": "part"}],
    }
    await node.create(
        pod(
            containers=[container],
            volumes=[{"name": "files", "emptyDir": {}}],
            script={"runs": [{"seconds": 5}, {}]},
        )
    )
    await node.pass_time(1)
    path = await volume(node, "empty-dir")
    assert path.stat().st_mode & 0o777 == 0o777
    (path / "part" / "kept").write_text("x")
    await node.pass_time(10)
    assert (await node.get()).status.container_statuses[0].restart_count == 1
    assert (path / "part" / "kept").read_text() == "x"
    pod_directory = path.parents[2]
    await node.delete()
    await node.pass_time(5)
    assert not pod_directory.exists()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Directory", "hostPath type check failed: {path} is not a directory"),
        ("File", "hostPath type check failed: {path} is not a file"),
        ("Socket", "hostPath type check failed: {path} is not a socket file"),
        ("CharDevice", "hostPath type check failed: {path} is not a character device"),
        ("BlockDevice", "hostPath type check failed: {path} is not a block device"),
    ],
)
async def test_host_paths_are_checked(node: SimNode, tmp_path: Path, kind: str, why: str) -> None:
    path = tmp_path / "absent"
    await node.create(with_volume({"hostPath": {"path": str(path), "type": kind}}))
    await node.pass_time(1)
    assert any(why.format(path=path) in recorded for recorded in await node.events())


async def test_host_paths_are_created_if_the_type_allows(node: SimNode, tmp_path: Path) -> None:
    path = tmp_path / "made" / "here"
    await node.create(with_volume({"hostPath": {"path": str(path), "type": "DirectoryOrCreate"}}))
    await node.pass_time(1)
    assert path.is_dir()
    await node.delete()
    await node.pass_time(3)
    assert path.is_dir()


@pytest.mark.parametrize("kind", [None, ""])
async def test_host_path_without_a_type_becomes_a_directory(
    node: SimNode, tmp_path: Path, kind: str | None
) -> None:
    path = tmp_path / "made" / "here"
    source = {"path": str(path)} if kind is None else {"path": str(path), "type": kind}
    runs = {"runs": [{"seconds": 5}, {}]}
    created = with_volume({"hostPath": source})
    annotations = {"sim.podling.dev/app": json.dumps(runs)}
    metadata = structs.replace(created.metadata, annotations=annotations)
    await node.create(structs.replace(created, metadata=metadata))
    await node.pass_time(1)
    assert path.is_dir()
    assert path.stat().st_mode & 0o777 == 0o755
    path.rmdir()
    await node.pass_time(10)
    assert (await node.get()).status.container_statuses[0].restart_count == 1
    assert path.is_dir()


async def test_host_path_without_a_type_leaves_what_is_there(node: SimNode, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kept")
    await node.create(with_volume({"hostPath": {"path": str(path)}}))
    await node.pass_time(1)
    assert (await node.get()).status.phase == "Running"
    assert path.read_text() == "kept"


async def test_failed_host_path_is_an_event(node: SimNode, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    await node.create(with_volume({"hostPath": {"path": str(tmp_path / "file" / "below")}}))
    await node.pass_time(1)
    (status,) = (await node.get()).status.container_statuses
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "CreateContainerConfigError"


async def test_managed_files_name_the_pod_and_its_resolver(node: SimNode) -> None:
    aliases = [{"ip": "10.1.2.3", "hostnames": ["db", "db.local"]}]
    await node.create(pod(hostname="box", subdomain="boxes", hostAliases=aliases))
    await node.pass_time(1)
    found = await node.get()
    directory = node.deps.root_dir / "pods" / (found.metadata.uid or "")
    hosts = (directory / "etc-hosts").read_text()
    assert f"{found.status.pod_ip}\tbox.boxes.default.svc.cluster.local\tbox\n" in hosts
    assert "10.1.2.3\tdb\tdb.local\n" in hosts
    assert (directory / "resolv.conf").read_text() == (
        "search default.svc.cluster.local svc.cluster.local cluster.local\n"
        "nameserver 10.96.0.10\n"
        "options ndots:5\n"
    )


async def test_termination_messages_are_reported(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 5, "exitCode": 1}, {}]}))
    await node.pass_time(1)
    uid = (await node.get()).metadata.uid or ""
    (node.deps.root_dir / "pods" / uid / "containers" / "app" / "0").write_text("disk full")
    await node.pass_time(10)
    (status,) = (await node.get()).status.container_statuses
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.message == "disk full"


@pytest.mark.parametrize(
    ("containers", "written", "shown"),
    [
        (1, b"a" + b"b" * 4096, "b" * 4096),
        (3, b"a" + b"b" * 4096, "b" * 4096),
        (4, b"a" * 3072 + b"b", "a" * 3072),
        (4, b"a" * 1025 + b"b" * 4095, "a" + "b" * 3071),
        (4, ("a" * 3071 + "ä").encode(), "a" * 3071),
    ],
    ids=["its end", "a third of the pod's", "a fourth of the pod's", "both", "never half a letter"],
)
async def test_termination_messages_have_limits(
    node: SimNode, containers: int, written: bytes, shown: str
) -> None:
    names = ["app", "b", "c", "d"][:containers]
    specs = [{"name": name, "image": "app:1"} for name in names]
    await node.create(pod(containers=specs, script={"runs": [{"seconds": 5}]}, restartPolicy="Never"))
    await node.pass_time(1)
    uid = (await node.get()).metadata.uid or ""
    (node.deps.root_dir / "pods" / uid / "containers" / "app" / "0").write_bytes(written)
    await node.pass_time(10)
    status = next(s for s in (await node.get()).status.container_statuses if s.name == "app")
    assert status.state.terminated is not None
    assert status.state.terminated.message == shown


async def test_log_replaces_a_missing_termination_message(node: SimNode) -> None:
    life = {
        "logs": [{"text": "first"}, {"text": "last words", "after": 1}],
        "runs": [{"seconds": 5, "exitCode": 1}],
    }
    container = {"name": "app", "image": "app:1", "terminationMessagePolicy": "FallbackToLogsOnError"}
    await node.create(pod(containers=[container], script=life, restartPolicy="Never"))
    await node.pass_time(10)
    (status,) = (await node.get()).status.container_statuses
    assert status.state.terminated is not None
    assert status.state.terminated.message == "first\nlast words\n"


async def test_missing_references_of_variables_are_events(node: SimNode) -> None:
    env = [{"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "key"}}}]
    await node.create(pod(containers=[{"name": "app", "image": "app:1", "env": env}]))
    await node.pass_time(1)
    (status,) = (await node.get()).status.container_statuses
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "CreateContainerConfigError"
    assert status.state.waiting.message == 'configmap "settings" not found'
    assert 'Failed: Error: configmap "settings" not found' in await node.events()
    created = await config_map(node, other="x")
    await node.pass_time(0.5)
    (status,) = (await node.get()).status.container_statuses
    assert status.state.waiting is not None
    assert status.state.waiting.message == "couldn't find key key in ConfigMap default/settings"
    await node.client.update(structs.replace(created, data={"key": "x"}))
    await node.pass_time(0.5)
    assert (await node.get()).status.phase == "Running"
