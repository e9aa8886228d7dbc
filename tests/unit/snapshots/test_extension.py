"""The extension ``snapshots``: its kinds are upstream's, and users of namespaces may use them."""

from __future__ import annotations

from podling.api.rbac_v1 import ClusterRole
from podling.extensions.loading import extensions_of, installed
from podling.testing import memory_cluster
from podling_snapshots.roles import roles


def test_extension_is_found_by_its_name() -> None:
    assert "snapshots" in installed()
    (extension,) = extensions_of(["snapshots"])
    names = {each.metadata.name for each in extension.definitions()}
    assert names == {
        f"{kind}.snapshot.storage.k8s.io"
        for kind in ("volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots")
    }
    assert set(extension.controllers()) == {"volume-snapshot-controller"}


async def test_roles_of_namespaces_include_snapshots() -> None:
    async with memory_cluster(extensions=extensions_of(["snapshots"])) as plane:
        for role in roles():
            stored = await plane.client.get(ClusterRole, role.metadata.name or "")
            assert stored.rules == role.rules
    view, edit = roles()
    assert "create" not in view.rules[0].verbs
    assert "create" in edit.rules[0].verbs
    assert edit.rules[0].resources == ("volumesnapshots",), "contents and classes are the administrator's"
