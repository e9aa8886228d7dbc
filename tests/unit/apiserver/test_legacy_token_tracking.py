"""The ConfigMap that states since when uses of tokens in Secrets are tracked."""

from __future__ import annotations

import pytest

from podling import clock
from podling.api.core_v1 import ConfigMap
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.tokens.legacy_tokens import TRACKING, date_text
from podling.testing import ControlPlane, memory_cluster

KEY = (TRACKING, "kube-system")


async def data(cluster: ControlPlane) -> dict[str, str] | None:
    """Return the data of the ConfigMap, None if there is none."""
    await clock.sleep(1)
    try:
        return (await cluster.client.get(ConfigMap, *KEY)).data
    except ApiError as error:
        if not is_not_found(error):
            raise
        return None


async def test_new_cluster_tracks_since_today() -> None:
    async with memory_cluster() as cluster:
        assert await data(cluster) == {"since": date_text(clock.now())}


@pytest.mark.parametrize("text", ["2022-12-27", "2222-02-22"])
async def test_stored_date_is_kept(cluster: ControlPlane, text: str) -> None:
    patch = {"data": {"since": text, "a": "1"}}
    patched = await cluster.client.patch(ConfigMap, TRACKING, patch, "kube-system")
    await clock.sleep(1)
    assert await cluster.client.get(ConfigMap, *KEY) == patched


@pytest.mark.parametrize(
    "text", ["BAD_TIMESTAMP", "2022-12-27T00:00:00Z", "2022-13-01", "20221227", "2022-1-2", "", None]
)
async def test_text_that_is_no_date_becomes_the_date_of_today(
    cluster: ControlPlane, text: str | None
) -> None:
    await cluster.client.patch(ConfigMap, TRACKING, {"data": {"since": text, "a": "1"}}, "kube-system")
    assert await data(cluster) == {"since": date_text(clock.now()), "a": "1"}


async def test_missing_data_becomes_the_date_of_today(cluster: ControlPlane) -> None:
    await cluster.client.patch(ConfigMap, TRACKING, {"data": None}, "kube-system")
    assert await data(cluster) == {"since": date_text(clock.now())}


async def test_deleted_map_is_created_again_once_in_half_an_hour() -> None:
    async with memory_cluster() as cluster:
        await cluster.advance(minutes=10)
        await cluster.client.delete(ConfigMap, *KEY)
        assert await data(cluster) is None
        await cluster.advance(minutes=19)
        assert await data(cluster) is None
        await cluster.advance(minutes=1)
        assert await data(cluster) is not None
        await cluster.advance(minutes=30)
        await cluster.client.delete(ConfigMap, *KEY)
        assert await data(cluster) is not None, "the last creation is long ago"
