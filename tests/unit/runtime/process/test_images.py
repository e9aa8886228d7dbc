"""Images of the process runtime: names in one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.runtime.base import ImageFailure, NotFound
from podling.runtime.process.images import HOST_IMAGE, NamedImages

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    return tmp_path / "images.json"


async def test_pulled_name_survives_a_restart(catalog: Path) -> None:
    pulled = await NamedImages(catalog).pull("app:1")
    again = NamedImages(catalog)
    found = await again.image_status("docker.io/library/app:1")
    assert found is not None
    assert (found.id, found.tags, found.local) == (pulled.id, ("docker.io/library/app:1",), False)
    assert await again.image_status(pulled.id) is not None
    assert again.of(pulled.id).id == pulled.id


async def test_name_with_digest_is_kept_as_digest(catalog: Path) -> None:
    name = "app@sha256:" + "a" * 64
    image = await NamedImages(catalog).pull(name)
    assert (image.tags, image.digests) == ((), (f"docker.io/library/{name}",))


async def test_host_image_is_present_and_cannot_be_removed(catalog: Path) -> None:
    images = NamedImages(catalog)
    host = await images.image_status(HOST_IMAGE)
    assert host is not None
    assert host.local
    with pytest.raises(ImageFailure, match="cannot be removed"):
        await images.remove_image(HOST_IMAGE)
    assert [image.tags for image in await NamedImages(catalog).list_images()] == [(HOST_IMAGE,)]


async def test_removed_image_is_unknown(catalog: Path) -> None:
    images = NamedImages(catalog)
    pulled = await images.pull("app:1")
    await images.remove_image("app:1")
    assert await images.image_status("app:1") is None
    for unknown in ("app:1", pulled.id):
        with pytest.raises(NotFound):
            await images.remove_image(unknown)
    with pytest.raises(NotFound):
        images.of(pulled.id)
    assert [image.tags for image in await images.list_images()] == [(HOST_IMAGE,)]
