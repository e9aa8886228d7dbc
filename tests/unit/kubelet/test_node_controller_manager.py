"""Controllers of extensions beside a kubelet."""

from __future__ import annotations

from pathlib import Path

from tests.support.kubelet_node import pod
from tests.support.node_controllers import Notes, node_with_notes


async def test_controller_sees_its_node_and_records_events(tmp_path: Path) -> None:
    async with node_with_notes(tmp_path) as node:
        await node.create(pod())
        await node.pass_time(10)
        assert Notes.made[-1].seen == {"web"}
        assert "Noted: seen on its node" in await node.events()


async def test_new_kubelet_makes_a_new_controller_and_the_old_one_is_closed(tmp_path: Path) -> None:
    async with node_with_notes(tmp_path) as node:
        await node.create(pod())
        await node.pass_time(10)
        old = Notes.made[-1]
        await node.restart()
        await node.pass_time(5)
        new = Notes.made[-1]
        assert (old.is_closed, new.is_closed, new.seen) == (True, False, {"web"})
