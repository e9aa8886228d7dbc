"""Approval of definitions in protected API groups."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.custom_resources import definition


def conditions(found: CustomResourceDefinition) -> dict[str, tuple[str, str | None, str | None]]:
    return {each.type: (each.status, each.reason, each.message) for each in found.status.conditions}


async def shown(cluster: ControlPlane, name: str) -> CustomResourceDefinition:
    await clock.sleep(1)
    return await cluster.client.get(CustomResourceDefinition, name)


@pytest.mark.parametrize(
    ("annotation", "condition"),
    [
        (
            "https://example.com/pull/1",
            ("True", "ApprovedAnnotation", "approved in https://example.com/pull/1"),
        ),
        (
            "unapproved, an experiment",
            ("False", "UnapprovedAnnotation", 'not approved: "unapproved, an experiment"'),
        ),
    ],
)
async def test_definition_in_a_protected_group_needs_an_approval(
    cluster: ControlPlane, annotation: str, condition: tuple[str, str, str]
) -> None:
    asked = definition(group="widgets.k8s.io")
    key = "metadata.annotations[api-approved.kubernetes.io]"
    with pytest.raises(ApiError) as missing:
        await cluster.client.create(asked)
    assert f'{key}: Required value: protected groups must have approval annotation "api-' in str(
        missing.value
    )
    for given, refused in ((annotation, False), ("because", True)):
        metadata = structs.replace(asked.metadata, annotations={"api-approved.kubernetes.io": given})
        if refused:
            with pytest.raises(ApiError) as malformed:
                await cluster.client.create(structs.replace(asked, metadata=metadata))
            assert f'{key}: Invalid value: "because": ' in str(malformed.value)
        else:
            await cluster.client.create(structs.replace(asked, metadata=metadata))
    found = await shown(cluster, "widgets.widgets.k8s.io")
    assert conditions(found)["KubernetesAPIApprovalPolicyConformant"] == condition
