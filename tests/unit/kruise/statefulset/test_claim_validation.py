"""Changed claim templates. Cases of upstream's ``ValidateVolumeClaimTemplateUpdate``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from tests.support.advanced_sets import StatefulSets
from tests.support.growing_claims import claims, claims_cluster, growing_set


@pytest.fixture
async def kruise() -> AsyncIterator[StatefulSets]:
    async with claims_cluster() as found:
        yield found


REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "another template": ([*claims(), *claims(name="more")], "can not be added or deleted when"),
    "another name": (claims(name="more"), "volumeClaimTemplate name can not be modified"),
    "another class": (claims(storage_class="fixed"), "can not be modified when OnRollingUpdate"),
}


@pytest.mark.parametrize(("templates", "message"), REFUSED.values(), ids=REFUSED)
async def test_templates_of_growing_claims_change_in_size_only(
    kruise: StatefulSets, templates: list[dict[str, Any]], message: str
) -> None:
    await kruise.create(growing_set())
    with pytest.raises(ApiError, match=message):
        await kruise.patch("v1beta1", volumeClaimTemplates=templates)


@pytest.mark.parametrize(
    ("storage_class", "message"),
    [("fixed", "storage class fixed does not support volume expansion"), ("absent", "can not get sc")],
)
async def test_class_of_growing_claims_must_allow_it(
    kruise: StatefulSets, storage_class: str, message: str
) -> None:
    plain = growing_set()
    plain["spec"]["volumeClaimTemplates"] = claims(storage_class=storage_class)
    await kruise.create(plain)
    with pytest.raises(ApiError, match=message):
        await kruise.patch("v1beta1", volumeClaimTemplates=claims("2Gi", storage_class=storage_class))
