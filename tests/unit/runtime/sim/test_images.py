"""The simulated registry and image store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.runtime.base import ImageFailure, NotFound
from podling.runtime.sim import ImageScript, PullFailure, Scenario
from podling.runtime.sim.images import SimImages


def images(**script: Any) -> SimImages:
    return SimImages(Scenario(images={"*": ImageScript(**script)}))


async def test_image_is_present_after_its_pull() -> None:
    store = images(pull_seconds=7.0, size_bytes=5)
    assert await store.image_status("app") is None
    before = clock.monotonic()
    pulled = await store.pull("app")
    assert clock.monotonic() - before == 7.0
    assert pulled.tags == ("docker.io/library/app:latest",)
    assert pulled.size_bytes == 5
    assert await store.image_status(pulled.id) == pulled
    assert await store.list_images() == (pulled,)


async def test_scripted_failures_come_first_and_in_order() -> None:
    first = PullFailure(message="slow down", reason="RegistryUnavailable")
    store = images(pull_seconds=0.0, failures=(first, PullFailure(message="no route")))
    with pytest.raises(ImageFailure, match="slow down") as caught:
        await store.pull("app")
    assert caught.value.reason == "RegistryUnavailable"
    with pytest.raises(ImageFailure, match="no route"):
        await store.pull("app")
    assert (await store.pull("app")).tags


async def test_missing_image_cannot_be_pulled() -> None:
    with pytest.raises(ImageFailure, match=r"docker\.io/library/app:1: not found"):
        await images(missing=True).pull("app:1")


async def test_present_image_needs_no_pull() -> None:
    found = await images(present=True).image_status("app")
    assert found is not None
    assert not found.local


async def test_loaded_image_is_local_and_named_after_its_archive() -> None:
    store = images()
    (loaded,) = await store.load(Path("/tmp/Web.tar"))
    assert loaded.tags == ("docker.io/library/web:latest",)
    found = await store.image_status("web")
    assert found is not None
    assert found.local
    await store.remove_image(loaded.id)
    assert await store.list_images() == ()
    with pytest.raises(NotFound):
        await store.remove_image(loaded.id)


async def test_name_with_digest_keeps_the_digest() -> None:
    digest = "sha256:" + "b" * 64
    image = await images().pull(f"registry.example:5000/app@{digest}")
    assert (image.tags, image.digests) == ((), (f"registry.example:5000/app@{digest}",))
