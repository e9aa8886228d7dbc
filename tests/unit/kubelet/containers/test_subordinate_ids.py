"""The IDs that ``getsubids`` shows, with a program of the test's own in its place."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.kubelet.containers.subordinate_ids import pool_from, read_subordinate_ids
from podling.kubelet.containers.user_ids import Pool, default_pool
from podling.kubelet.kubelet import Kubelet
from podling.runtime.base import IdRange, RuntimeFailure
from podling.testing import ControlPlane
from tests.support.kubelet_node import pod, sim_node
from tests.unit.kubelet.containers.test_user_namespaces import CONFIG, users

COUNT = 65536
RANGE = "0: kubelet 458752 8388608\n"


def program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "getsubids"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_machine_without_the_user_or_the_program_gives_no_certain_ids(tmp_path: Path) -> None:
    assert read_subordinate_ids("no-such-user", program(tmp_path, "exit 1")) is None
    assert read_subordinate_ids(getpass.getuser(), str(tmp_path / "missing")) is None
    assert pool_from(None, COUNT, 110) == default_pool(COUNT)


def test_program_shows_users_and_groups(tmp_path: Path) -> None:
    user = getpass.getuser()
    assert read_subordinate_ids(user, program(tmp_path, 'echo "$@"')) == (f"{user}\n", f"-g {user}\n")


def test_failure_of_the_program_is_an_error(tmp_path: Path) -> None:
    message = 'error retrieving additional uids for user "[^"]*": exit status 7'
    with pytest.raises(ValueError, match=message):
        read_subordinate_ids(getpass.getuser(), program(tmp_path, "exit 7"))


def test_users_and_groups_have_the_same_range() -> None:
    assert pool_from((RANGE, RANGE), COUNT, 110) == Pool(7, 135)
    with pytest.raises(ValueError, match='mismatched subuids and subgids for user "kubelet"'):
        pool_from((RANGE, "0: kubelet 0 65536\n"), COUNT, 110)
    with pytest.raises(ValueError, match="kubelet mappings: invalid line"):
        pool_from(("", ""), COUNT, 110)


async def test_pods_of_a_node_have_ids_of_the_range(cluster: ControlPlane, tmp_path: Path) -> None:
    async with sim_node(cluster, tmp_path, config=CONFIG) as node:
        node.deps = replace(node.deps, read_subordinate_ids=lambda: (RANGE, RANGE))
        await node.restart()
        await node.create(pod("web", hostUsers=False))
        await node.pass_time(5)
        assert await users(node) == {"web": IdRange(first=7 * COUNT)}
        wrong = replace(node.deps, read_subordinate_ids=lambda: ("0: kubelet 1 65536\n",) * 2)
        with pytest.raises(RuntimeFailure, match="kubelet user assigned ID 1 is not a multiple of 65536"):
            Kubelet(wrong)
