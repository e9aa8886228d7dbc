"""The files of volumes: published as one, owned by a group, mounted in part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.api.core_v1 import EmptyDirVolumeSource, HostPathVolumeSource, Pod, VolumeMount
from podling.files.trees import remove_tree
from podling.kubelet.containers import pod_files
from podling.kubelet.failures import StartFailure
from podling.kubelet.volumes.atomic_writer import FileProjection, InvalidPath, check_path, write_payload
from podling.kubelet.volumes.base import Mounted, VolumeFacts
from podling.kubelet.volumes.empty_dir import tmpfs_size
from podling.kubelet.volumes.host_path import check_host_path, make_missing_directory
from podling.kubelet.volumes.mounts import container_mounts
from podling.kubelet.volumes.ownership import set_ownership
from podling.kubelet.volumes.projected import single_user
from podling.kubelet.volumes.sub_paths import prepare_sub_path, sub_path
from podling.runtime.image_service import Image
from podling.runtime.oci.linux import open_file_in_root

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def files(**texts: str) -> dict[str, FileProjection]:
    return {name.replace("__", "/"): FileProjection(text.encode()) for name, text in texts.items()}


def shown(directory: Path) -> dict[str, str]:
    """What a reader sees: every file by its visible path."""
    found = {}
    for name in sorted(os.listdir(directory)):
        if name.startswith(".."):
            continue
        for path in [directory / name, *sorted((directory / name).rglob("*"))]:
            if path.is_file():
                found[str(path.relative_to(directory))] = path.read_text()
    return found


def test_files_are_published_and_replaced_as_one(tmp_path: Path) -> None:
    assert write_payload(tmp_path, files(a="1", deep__b="2"))
    assert shown(tmp_path) == {"a": "1", "deep/b": "2"}
    before = os.readlink(tmp_path / "..data")
    assert write_payload(tmp_path, files(a="3", c="4"))
    assert shown(tmp_path) == {"a": "3", "c": "4"}
    assert os.readlink(tmp_path / "..data") != before
    assert not (tmp_path / before).exists()


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A directory for trees that are too deep for others to remove."""
    place = tmp_path / "deep"
    place.mkdir()
    yield place
    remove_tree(place)


def test_deep_paths_are_published(deep: Path) -> None:
    path = "d/" * 1200 + "file"
    assert write_payload(deep, {path: FileProjection(b"1")})
    assert not write_payload(deep, {path: FileProjection(b"1")})
    assert (deep / path).read_bytes() == b"1"
    assert write_payload(deep, {"other": FileProjection(b"1")})


@root_only
def test_deep_paths_are_given_to_a_group(deep: Path) -> None:
    path = "d/" * 1200 + "file"
    write_payload(deep, {path: FileProjection(b"1")}, group=1234)
    assert (deep / path).parent.stat().st_gid == 1234


@pytest.mark.parametrize(
    "paths", [("a\0b",), ("x" * 5000,), ("x" * 300,), ("a", "a/b"), ("d/" * 2030 + "file",), ("..",), (".",)]
)
def test_paths_that_cannot_be_are_refused_and_leave_nothing(deep: Path, paths: tuple[str, ...]) -> None:
    with pytest.raises((InvalidPath, OSError)):
        write_payload(deep, {path: FileProjection(b"1") for path in paths})
    assert os.listdir(deep) == []


@pytest.mark.parametrize("part", ["a\0b", "x" * 300, "d/" * 2040])
def test_sub_paths_that_cannot_be_fail_the_container(deep: Path, part: str) -> None:
    with pytest.raises(StartFailure, match="subPath"):
        prepare_sub_path(deep, part, "volume", "app")


def test_managed_files_are_compared_by_their_beginning(tmp_path: Path) -> None:
    """A container may write any amount into its ``/etc/hosts``."""
    hosts = tmp_path / "etc-hosts"
    hosts.touch()
    os.truncate(hosts, 1 << 40)
    pod_files._write_if_changed(hosts, "127.0.0.1 localhost\n")
    assert hosts.read_text() == "127.0.0.1 localhost\n"


def test_unchanged_files_are_left_alone(tmp_path: Path) -> None:
    write_payload(tmp_path, files(a="1"))
    before = os.readlink(tmp_path / "..data")
    assert not write_payload(tmp_path, files(a="1"))
    assert os.readlink(tmp_path / "..data") == before


def test_a_changed_mode_is_a_change(tmp_path: Path) -> None:
    write_payload(tmp_path, files(a="1"))
    assert write_payload(tmp_path, {"a": FileProjection(b"1", 0o600)})
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "d/x", "d/y"]), st.text(max_size=3)), max_size=4))
@settings(deadline=None)  # it writes files
def test_whatever_was_there_before_the_last_payload_is_shown(payloads: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for payload in payloads:
            given_files = {path: FileProjection(text.encode()) for path, text in payload.items()}
            write_payload(Path(name), given_files)
            seen = {path: (Path(name) / path).read_bytes().decode() for path in payload}
            assert seen == payload
            assert set(shown(Path(name))) == set(payload)


@pytest.mark.parametrize("path", ["", "/abs", "../up", "a/../../b", "..data", "..hidden/x"])
def test_paths_that_would_leave_the_volume(path: str) -> None:
    with pytest.raises(InvalidPath):
        check_path(path)


@root_only
def test_a_group_owns_the_files(tmp_path: Path) -> None:
    write_payload(tmp_path, {"a": FileProjection(b"1", 0o400)}, group=1234)
    status = (tmp_path / "a").stat()
    assert (status.st_gid, status.st_mode & 0o777) == (1234, 0o440)


@root_only
def test_ownership_of_a_whole_volume(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    set_ownership(tmp_path, 1234)
    assert (tmp_path / "d" / "f").stat().st_gid == 1234
    assert tmp_path.stat().st_mode & 0o2070 == 0o2070
    assert Path("/etc/passwd").stat().st_gid != 1234
    (tmp_path / "late").write_text("x")
    os.chown(tmp_path / "late", 0, 0)
    set_ownership(tmp_path, 1234, only_on_mismatch=True)
    assert (tmp_path / "late").stat().st_gid == 0


def mount(**fields: Any) -> VolumeMount:
    return msgspec.convert({"name": "v", "mountPath": "/v", **fields}, VolumeMount)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({}, ""),
        ({"subPath": "a/b"}, "a/b"),
        ({"subPathExpr": "logs/$(NAME)"}, "logs/web"),
        ({"subPathExpr": "$$(NAME)"}, "$(NAME)"),
    ],
)
def test_parts_of_volumes(fields: dict[str, str], part: str) -> None:
    assert sub_path(mount(**fields), {"NAME": "web"}) == part


@pytest.mark.parametrize(
    "fields", [{"subPathExpr": "$(NOPE)"}, {"subPathExpr": "$(ROOT)"}, {"subPath": "../x"}]
)
def test_parts_that_are_none(fields: dict[str, str]) -> None:
    with pytest.raises(StartFailure):
        sub_path(mount(**fields), {"ROOT": "/etc"})


def test_a_part_may_not_be_a_way_out(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "out").symlink_to(tmp_path)
    (tmp_path / "secret").mkdir()
    wanted = 'failed to (create|prepare) subPath (directory )?for volumeMount "v" of container "app"$'
    for part in ("out/secret", "out/new", "out"):
        with pytest.raises(StartFailure, match=wanted):
            prepare_sub_path(volume, part, "v", "app")
    assert sorted(os.listdir(tmp_path)) == ["secret", "volume"]
    prepare_sub_path(volume, "new/part", "v", "app")
    assert (volume / "new" / "part").is_dir()


def test_mounts_of_a_container() -> None:
    plain = {
        "name": "app",
        "volumeMounts": [
            {"name": "v", "mountPath": "/a/b", "readOnly": True, "recursiveReadOnly": "Enabled"},
            {"name": "config", "mountPath": "/etc/app"},
            {"name": "v", "mountPath": "/a", "subPath": "part", "mountPropagation": "HostToContainer"},
            {"name": "data", "mountPath": "models", "subPathExpr": "$(SIZE)/m"},
        ],
    }
    (container,) = msgspec.convert({"spec": {"containers": [plain]}}, Pod).spec.containers
    volumes = {"v": Mounted(Path("/k/v")), "config": Mounted(Path("/k/c"), read_only=True)}
    images = {"data": Image(id="sha256:1")}
    found = container_mounts(container, volumes, images, {"SIZE": "small"}, write=False)
    assert [(m.container_path, (m.host_path or m.image, m.sub_path), m.read_only) for m in found] == [
        ("/a", ("/k/v", "part"), False),
        ("/models", ("sha256:1", "small/m"), True),
        ("/a/b", ("/k/v", ""), True),
        ("/etc/app", ("/k/c", ""), True),
    ]
    assert [m.recursive_read_only for m in found] == [False, False, True, False]
    assert found[0].propagation.value == "HostToContainer"
    with pytest.raises(StartFailure, match='cannot find volume "v" to mount into container "app"'):
        container_mounts(container, {}, {}, {}, write=False)


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return msgspec.convert({"spec": {"containers": containers, **spec}}, Pod)


LIMITED = {"name": "a", "resources": {"limits": {"memory": "1Gi"}}}


@pytest.mark.parametrize(
    ("size", "subject", "allocatable", "expected"),
    [
        ("1Mi", pod({"name": "a"}), {}, 1 << 20),
        (None, pod(LIMITED), {"memory": "8Gi"}, 1 << 30),
        (None, pod(LIMITED, {"name": "b"}), {"memory": "8Gi"}, 8 << 30),
        ("2Gi", pod(LIMITED), {}, 1 << 30),
        (None, pod({"name": "a"}), {}, None),
    ],
)
def test_how_much_a_volume_in_memory_holds(
    size: str | None, subject: Pod, allocatable: dict[str, str], expected: int | None
) -> None:
    source = EmptyDirVolumeSource(medium="Memory", size_limit=size)
    assert tmpfs_size(source, subject, VolumeFacts(allocatable=allocatable)) == expected


@pytest.mark.parametrize(
    ("users", "outer", "single"),
    [([1, 1], None, 1), ([1, 2], None, None), ([None, 1], 1, 1), ([None], None, None)],
)
def test_whose_the_token_is(users: list[int | None], outer: int | None, single: int | None) -> None:
    containers = [
        {"name": f"c{n}", "securityContext": {"runAsUser": user} if user is not None else {}}
        for n, user in enumerate(users)
    ]
    context = {"runAsUser": outer} if outer is not None else {}
    assert single_user(pod(*containers, securityContext=context)) == single


@pytest.mark.parametrize("kind", ["", "Directory", "DirectoryOrCreate", "File", "FileOrCreate"])
def test_host_paths_with_a_nul_are_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(OSError, match=r"Invalid argument|hostPath"):
        check_host_path(HostPathVolumeSource(path=f"{tmp_path}/a\0b", type=kind))
    assert os.listdir(tmp_path) == []


def test_deep_host_paths_are_made(deep: Path) -> None:
    path = deep / ("d/" * 1500 + "last")
    check_host_path(HostPathVolumeSource(path=str(path), type="DirectoryOrCreate"))
    assert path.is_dir()
    make_missing_directory(deep / "a/b/c")
    assert (deep / "a/b/c").is_dir()


def test_host_paths_below_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_missing_directory(tmp_path / "file/part")


def test_env_files_with_a_nul_in_their_path_are_refused(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("KEY=value\n")
    with pytest.raises(OSError, match="Invalid argument"):
        open_file_in_root(tmp_path, "env\0more")
