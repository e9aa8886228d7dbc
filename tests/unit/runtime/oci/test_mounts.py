"""Mount propagation on the machine, as read from the kernel's table of mounts."""

from __future__ import annotations

import pytest

from podling.runtime.base import Mount, MountPropagation, RuntimeFailure
from podling.runtime.oci.mounts import check_propagation, mount_of, parse_mountinfo

TABLE = parse_mountinfo(
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 27 0:5 / /srv rw shared:7 - ext4 /dev/vdb rw\n"
    "31 30 0:6 / /srv/deep rw master:3 propagate_from:2 - tmpfs none rw\n"
    "32 27 0:7 / /with\\040blank rw shared:9 - tmpfs none rw\n"
    "33 27 0:8 / /twice rw - tmpfs none rw\n"
    "34 33 0:9 / /twice rw shared:11 - tmpfs none rw\n"
)
INTO, BOTH = MountPropagation.HOST_TO_CONTAINER, MountPropagation.BIDIRECTIONAL


@pytest.mark.parametrize(
    ("path", "on"),
    [
        ("/", "/"),
        ("/home/x", "/"),
        ("/srv", "/srv"),
        ("/srv/a", "/srv"),
        ("/srvother", "/"),
        ("/srv/deep/er", "/srv/deep"),
        ("/with blank/x", "/with blank"),
    ],
)
def test_path_is_on_nearest_mount(path: str, on: str) -> None:
    assert mount_of(path, TABLE).path == on


def test_of_stacked_mounts_the_top_one_counts() -> None:
    assert mount_of("/twice/x", TABLE).shared


@pytest.mark.parametrize(
    ("path", "propagation", "problem"),
    [
        ("/home", MountPropagation.NONE, ""),
        ("/home", INTO, 'path "/home" is mounted on "/" but it is not a shared or slave mount'),
        ("/home", BOTH, 'path "/home" is mounted on "/" but it is not a shared mount'),
        ("/srv/a", INTO, ""),
        ("/srv/a", BOTH, ""),
        ("/srv/deep", INTO, ""),
        ("/srv/deep", BOTH, 'path "/srv/deep" is mounted on "/srv/deep" but it is not a shared mount'),
    ],
)
def test_propagation_requires_shared_mount(path: str, propagation: MountPropagation, problem: str) -> None:
    mount = Mount(container_path="/c", host_path=path, propagation=propagation)
    if not problem:
        check_propagation(mount, path, TABLE)
        return
    with pytest.raises(RuntimeFailure) as caught:
        check_propagation(mount, path, TABLE)
    assert str(caught.value) == problem
