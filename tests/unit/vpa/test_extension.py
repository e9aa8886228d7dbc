"""The extension ``vpa``: its kinds, its loops, and the rights of users of namespaces."""

from __future__ import annotations

from podling.api.rbac_v1 import ClusterRole
from podling.extensions.loading import extensions_of, installed
from podling.testing import memory_cluster
from podling_vpa.roles import roles


def test_extension_is_found_by_its_name() -> None:
    assert "vpa" in installed()
    (extension,) = extensions_of(["vpa", "vpa:PerVPAConfig=true"])
    assert extension.features == {"PerVPAConfig": True, "InPlace": False}
    assert {each.metadata.name for each in extension.definitions()} == {
        "verticalpodautoscalers.autoscaling.k8s.io",
        "verticalpodautoscalercheckpoints.autoscaling.k8s.io",
    }
    assert set(extension.controllers()) == {"vpa-recommender", "vpa-updater"}
    assert set(extension.explainers()) == {"verticalpodautoscalers.autoscaling.k8s.io"}


async def test_roles_of_namespaces_include_autoscalers() -> None:
    async with memory_cluster(extensions=extensions_of(["vpa"])) as plane:
        for role in roles():
            stored = await plane.client.get(ClusterRole, role.metadata.name or "")
            assert stored.rules == role.rules
    view, edit = roles()
    assert "create" not in view.rules[0].verbs
    assert edit.rules[0].resources == ("verticalpodautoscalers",), "checkpoints are the recommender's"
