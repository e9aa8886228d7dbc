"""Updates of ConfigMap, Secret and projected volumes: what readers see after each file-system call."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from podling.api.core_v1 import ConfigMap, Secret
from podling.kubelet.config import KubeletConfig
from podling.kubelet.volumes.atomic_writer import DATA, FileProjection, Payload, write_payload
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.file_calls import after_each_file_call
from tests.support.kubelet_node import SimNode, pod, sim_node, unmount_volumes

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")

File = tuple[bytes, int, int, int]
"""Content, mode, user and group."""
Tree = Mapping[str, File]


def read(path: Path | str, dir_fd: int | None = None) -> File | None:
    """Return what a reader gets who opens the file now; None if it is absent."""
    try:
        found = os.open(path, os.O_RDONLY, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        status = os.fstat(found)
        if stat.S_ISDIR(status.st_mode):
            return None
        return os.read(found, 1 << 22), stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
    finally:
        os.close(found)


def tree(directory: Path) -> Tree | None:
    """Return all that ``..data`` leads to, directories with mode and owners; None if there is none."""
    try:
        top = directory / os.readlink(directory / DATA)
    except FileNotFoundError:
        return None
    found: dict[str, File] = {}
    for root, directories, names in os.walk(top):
        for name in (".", *directories):
            status = os.lstat(os.path.join(root, name))
            path = os.path.relpath(os.path.join(root, name), top)
            found[path] = b"", status.st_mode, status.st_uid, status.st_gid
        for name in names:
            path = os.path.join(root, name)
            found[os.path.relpath(path, top)] = read(path) or (b"absent", 0, 0, 0)
    return found


class View(Struct, frozen=True):
    """The contents that readers see at one moment."""

    tree: Tree | None
    """Through ``..data``, all files at once."""
    names: Mapping[str, File | None]
    """Through each path of the old and the new files."""
    inside: Mapping[str, File | None]
    """Through a directory that was entered before the update, as by a process that works there."""
    opened: Mapping[str, File]
    """Through files that were opened before the update."""


class Readers:
    """Readers of one volume, and every view that they had."""

    def __init__(self, directory: Path, *payloads: Payload) -> None:
        self._directory = directory
        self._paths = sorted({path for payload in payloads for path in payload})
        self._entered = os.open(directory / DATA, os.O_RDONLY) if (directory / DATA).exists() else None
        visible = (path for path in self._paths if (directory / path).is_file())
        self._opened = {path: os.open(directory / path, os.O_RDONLY) for path in visible}
        self.views: list[tuple[str, View]] = []
        self.look("the beginning")

    def look(self, call: str) -> None:
        view = View(
            tree(self._directory),
            {path: read(self._directory / path) for path in self._paths},
            {path: read(path, self._entered) for path in self._paths} if self._entered is not None else {},
            {path: _again(found) for path, found in self._opened.items()},
        )
        if not self.views or self.views[-1][1] != view:
            self.views.append((call, view))

    def close(self) -> None:
        for found in (*self._opened.values(), *([] if self._entered is None else [self._entered])):
            os.close(found)


def _again(found: int) -> File:
    status = os.fstat(found)
    return os.pread(found, 1 << 22, 0), stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid


@contextmanager
def watched(directory: Path, *payloads: Payload) -> Iterator[None]:
    """Check that readers see old or new files at each moment of the update that the block makes."""
    readers = Readers(directory, *payloads)
    try:
        with after_each_file_call(readers.look):
            yield
        readers.look("the end")
        check(readers.views)
    finally:
        readers.close()


def check(views: list[tuple[str, View]]) -> None:
    old, new = views[0][1], views[-1][1]
    is_new = dict.fromkeys(old.names, False)
    for call, view in views:
        assert view.tree in (old.tree, new.tree), f"after {call}, ..data shows files of no payload"
        for path, found in view.names.items():
            assert found in (old.names[path], new.names[path]), f"after {call}, {path} is neither old nor new"
            if old.names[path] != new.names[path]:
                assert not (is_new[path] and found == old.names[path]), f"after {call}, {path} is old again"
                is_new[path] = is_new[path] or found == new.names[path]
        for path, found in view.inside.items():
            assert found in (old.inside[path], None), f"after {call}, {path} changed in the old directory"
        assert view.opened == old.opened, f"after {call}, an opened file changed"


def files(mode: int = 0o644, **texts: str) -> dict[str, FileProjection]:
    return {name.replace("__", "/"): FileProjection(text.encode(), mode) for name, text in texts.items()}


def owned(user: int, **texts: str) -> dict[str, FileProjection]:
    return {name: FileProjection(text.encode(), 0o600, user) for name, text in texts.items()}


LARGE = "x" * (1 << 20)
UPDATES = {
    "a value changes": (files(a="1", b="1"), files(a="2", b="1")),
    "all values change": (files(a="1", b="1", c="1"), files(a="2", b="2", c="2")),
    "a key is added": (files(a="1"), files(a="1", b="1")),
    "a key is removed": (files(a="1", b="1"), files(a="1")),
    "a key is renamed": (files(a="1"), files(b="1")),
    "the last key is removed": (files(a="1"), {}),
    "the first key is added": ({}, files(a="1")),
    "a nested value changes": (files(d__e__f="1", d__g="1"), files(d__e__f="2", d__g="1")),
    "a nested key is added": (files(d__e="1"), files(d__e="1", d__f__g="1")),
    "a nested key is removed": (files(d__e="1", d__f__g="1"), files(d__e="1")),
    "a directory is removed": (files(a="1", d__e="1", d__f="1"), files(a="2")),
    "a file becomes a directory": (files(a="1", b="1"), files(a__c="2", b="1")),
    "a directory becomes a file": (files(a__c="1", b="1"), files(a="2", b="1")),
    "the mode changes": (files(a="1", b="1"), files(0o400, a="1", b="1")),
    "mode and value change": (files(a="1", d__b="1"), files(0o400, a="2", d__b="1")),
    "a value becomes longer": (files(a="1", b="1"), files(a=LARGE, b="1")),
    "a value becomes empty": (files(a=LARGE, b="1"), files(a="", b="1")),
    "values change places": (files(a="1", b="2"), files(a="2", b="1")),
    "many values change": (
        {f"k{number}": FileProjection(b"1") for number in range(30)},
        {f"k{number}": FileProjection(b"2") for number in range(5, 35)},
    ),
    "nothing changes": (files(a="1", d__b="1"), files(a="1", d__b="1")),
}


def is_published(directory: Path, payload: Payload, group: int | None = None) -> None:
    """Check what the names show in the end, and that nothing is left of the update."""
    for path, file in payload.items():
        mode = file.mode if group is None else file.mode | 0o440
        user = os.geteuid() if file.user is None else file.user
        owner = (directory / path).stat().st_gid if group is None else group
        assert read(directory / path) == (file.data, mode, user, owner)
        for above in Path(path).parents if group is not None else ():
            status = (directory / DATA / above).stat()
            assert (status.st_gid, stat.S_IMODE(status.st_mode)) == (group, 0o2755)
    top = {Path(path).parts[0] for path in payload}
    assert set(os.listdir(directory)) == top | {DATA, os.readlink(directory / DATA)}


@pytest.mark.parametrize(("old", "new"), UPDATES.values(), ids=UPDATES)
def test_readers_see_an_update_whole_or_not_at_all(tmp_path: Path, old: Payload, new: Payload) -> None:
    write_payload(tmp_path, old)
    with watched(tmp_path, old, new):
        assert write_payload(tmp_path, new) == (old != new)
    is_published(tmp_path, new)


@pytest.mark.parametrize("new", [new for _, new in UPDATES.values()], ids=UPDATES)
def test_readers_see_the_first_files_whole_or_not_at_all(tmp_path: Path, new: Payload) -> None:
    with watched(tmp_path, new):
        write_payload(tmp_path, new)
    is_published(tmp_path, new)


@needs_root
@pytest.mark.parametrize(
    ("groups", "old", "new"),
    [
        pytest.param((1234, 1234), *UPDATES["mode and value change"], id="a value changes"),
        pytest.param((1234, 1234), *UPDATES["a directory is removed"], id="a directory is removed"),
        pytest.param((None, 1234), *UPDATES["a nested value changes"], id="the group is given"),
        pytest.param((None, 1234), *UPDATES["nothing changes"], id="only the group is given"),
        pytest.param((1234, 4321), *UPDATES["nothing changes"], id="only the group changes"),
        pytest.param((None, 1234), files(0o400, a="1"), files(0o400, a="1"), id="the group may read"),
        pytest.param((None, None), owned(0, a="1"), owned(1000, a="1", b="1"), id="the user changes"),
        pytest.param((1234, 1234), owned(1000, a="1"), owned(1000, a="2"), id="a token is renewed"),
    ],
)
def test_readers_see_owners_change_with_the_files(
    tmp_path: Path, groups: tuple[int | None, int | None], old: Payload, new: Payload
) -> None:
    write_payload(tmp_path, old, groups[0])
    with watched(tmp_path, old, new):
        assert write_payload(tmp_path, new, groups[1])
    is_published(tmp_path, new, groups[1])


PATHS = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "f"])
PROJECTIONS = st.builds(FileProjection, st.sampled_from([b"", b"1", b"2"]), st.sampled_from([0o644, 0o400]))
PAYLOADS = st.dictionaries(PATHS, PROJECTIONS, max_size=5)


@settings(max_examples=40)
@given(st.lists(PAYLOADS, min_size=2, max_size=4))
def test_readers_see_any_updates_whole_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, payloads: list[Payload]
) -> None:
    directory = tmp_path_factory.mktemp("volume")
    write_payload(directory, payloads[0])
    for old, new in itertools.pairwise(payloads):
        with watched(directory, old, new):
            write_payload(directory, new)
        is_published(directory, new)


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    config = KubeletConfig(node_addresses=("192.168.0.10",), resolv_conf=None, write_files=True)
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found
    unmount_volumes(tmp_path)


CONFIG_MAP = {"configMap": {"name": "one"}}
SECRET = {"secret": {"secretName": "one", "defaultMode": 0o400}}
PROJECTED = {
    "projected": {
        "sources": [
            {"configMap": {"name": "one", "items": [{"key": "key", "path": "deep/key"}]}},
            {"secret": {"name": "one", "items": [{"key": "key", "path": "hidden", "mode": 0o400}]}},
        ]
    }
}


@pytest.mark.parametrize(
    ("source", "kind", "plugin", "paths"),
    [
        pytest.param(CONFIG_MAP, ConfigMap, "configmap", ["key", "old", "new"], id="ConfigMap"),
        pytest.param(SECRET, Secret, "secret", ["key", "old", "new"], id="Secret"),
        pytest.param(PROJECTED, ConfigMap, "projected", ["deep/key", "hidden"], id="projected ConfigMap"),
        pytest.param(PROJECTED, Secret, "projected", ["deep/key", "hidden"], id="projected Secret"),
    ],
)
async def test_readers_see_a_changed_object_whole_or_not_at_all(
    node: SimNode,
    source: dict[str, Any],
    kind: type[ConfigMap] | type[Secret],
    plugin: str,
    paths: list[str],
) -> None:
    metadata = {"metadata": {"name": "one", "namespace": "default"}}
    old = {**metadata, "data": {"key": "MQ==", "old": ""}}
    config_map = await node.client.create(msgspec.convert(old, ConfigMap))
    secret = await node.client.create(msgspec.convert(old, Secret))
    container = {"name": "app", "image": "app:1", "volumeMounts": [{"name": "files", "mountPath": "/files"}]}
    await node.create(pod(containers=[container], volumes=[{"name": "files", **source}]))
    await node.pass_time(1)
    uid = (await node.get()).metadata.uid or ""
    directory = node.deps.root_dir / "pods" / uid / "volumes" / f"kubernetes.io~{plugin}" / "files"
    before = {path: read(directory / path) for path in paths}
    with watched(directory, dict.fromkeys(paths, FileProjection(b""))):
        if kind is Secret:
            await node.client.update(structs.replace(secret, data={"key": "Mg==", "new": ""}))
        else:
            await node.client.update(structs.replace(config_map, data={"key": "Mg==", "new": ""}))
        await node.pass_time(1)
    changed = [path for path in paths if before[path] != read(directory / path)]
    assert changed == (paths if plugin != "projected" else [paths[kind is Secret]])
