"""The store over a real directory: loading, sharing, removing, and what a crash leaves behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podling.runtime.base import ImageFailure, NotFound
from podling.runtime.images.host_image import HOST_IMAGE
from podling.runtime.images.store import ImageStore
from tests.support.images import Tree, configuration, docker_archive, oci_archive, sha256

pytestmark = [
    pytest.mark.asyncio(loop_factories=["real"]),  # unpacking happens in threads
    pytest.mark.skipif(os.geteuid() != 0, reason="layers have owners, which needs root"),
]

BASE = Tree().add("base", b"shared").tar()
TOP = Tree().add("top", b"own").tar()


def archive(path: Path, tag: str, *layers: bytes, **options: str) -> Path:
    return docker_archive(path, tag, layers, configuration(layers, **options))  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "images")


def layer_directories(store: ImageStore) -> int:
    host = 1
    return len(os.listdir(store.root / "layers")) - host


async def test_a_docker_archive_brings_its_tag(store: ImageStore, tmp_path: Path) -> None:
    config = configuration([BASE, TOP], user="www", StopSignal="SIGUSR1", Volumes={"/data": {}})
    (image,) = await store.load(docker_archive(tmp_path / "a.tar", "app:1", [BASE, TOP], config))
    assert image.id == sha256(config)
    assert (image.tags, image.digests) == (("docker.io/library/app:1",), ())
    assert (image.user, image.stop_signal, image.volumes) == ("www", "SIGUSR1", ("/data",))
    assert await store.image_status("app:1") == image
    layers = store.content(image.id).layers
    assert [(layer / name).read_bytes() for layer, name in zip(layers, ("base", "top"), strict=True)] == [
        b"shared",
        b"own",
    ]


async def test_an_oci_archive_keeps_its_digest(store: ImageStore, tmp_path: Path) -> None:
    config = configuration([BASE])
    (image,) = await store.load(oci_archive(tmp_path / "a.tar", "example.org/app:1", [BASE], config))
    (by_digest,) = image.digests
    assert by_digest.startswith("example.org/app@sha256:")
    assert await store.image_status(by_digest) == image
    assert store.content(image.id).ref == by_digest


async def test_names_given_at_loading_replace_the_archives_own(store: ImageStore, tmp_path: Path) -> None:
    (image,) = await store.load(archive(tmp_path / "a.tar", "app:1", BASE), ["other:2", "third"])
    assert image.tags == ("docker.io/library/other:2", "docker.io/library/third:latest")
    assert await store.image_status("app:1") is None


async def test_layers_are_shared_and_go_with_the_last_image(store: ImageStore, tmp_path: Path) -> None:
    await store.load(archive(tmp_path / "a.tar", "one", BASE))
    await store.load(archive(tmp_path / "b.tar", "two", BASE, TOP))
    assert layer_directories(store) == 2
    await store.remove_image("one")
    assert layer_directories(store) == 2
    await store.remove_image("two")
    assert layer_directories(store) == 0


async def test_a_container_holds_its_layers(store: ImageStore, tmp_path: Path) -> None:
    (image,) = await store.load(archive(tmp_path / "a.tar", "app", BASE))
    store.hold("container", image.id)
    await store.remove_image("app")
    again = ImageStore(store.root)
    assert await again.image_status("app") is None
    assert layer_directories(again) == 1
    await again.release("container")
    assert layer_directories(again) == 0


async def test_images_are_found_again(store: ImageStore, tmp_path: Path) -> None:
    (image,) = await store.load(archive(tmp_path / "a.tar", "app", BASE))
    assert await ImageStore(store.root).image_status("app") == image


async def test_leftovers_of_crash_are_hidden_and_removed(store: ImageStore, tmp_path: Path) -> None:
    await store.load(archive(tmp_path / "a.tar", "app", BASE))
    (store.root / "work" / "half").mkdir()
    (store.root / "layers" / "nameless" / "files").mkdir(parents=True)
    again = ImageStore(store.root)
    assert len(await again.list_images()) == 2
    assert not (store.root / "work" / "half").exists()
    assert not (store.root / "layers" / "nameless").exists()


async def test_an_image_that_a_container_holds_is_in_use(store: ImageStore, tmp_path: Path) -> None:
    (image,) = await store.load(docker_archive(tmp_path / "a.tar", "app:1", [BASE], configuration([BASE])))

    async def in_use() -> list[str]:
        return [found.id for found in await store.list_images() if found.in_use]

    assert await in_use() == []
    store.hold("container", image.id)
    assert await in_use() == [image.id]
    assert [found.id for found in await ImageStore(store.root).list_images() if found.in_use] == [image.id]
    await store.release("container")
    assert await in_use() == []


async def test_truncated_holder_file_is_removed(store: ImageStore, tmp_path: Path) -> None:
    (image,) = await store.load(archive(tmp_path / "image.tar", "app:1", BASE))
    store.hold("whole", image.id)
    holders = store.root / "holders"
    (holders / ".half.new").write_bytes((holders / "whole").read_bytes())
    (holders / "broken").write_bytes(b'{"ima')
    again = ImageStore(store.root)
    assert [found.id for found in await again.list_images() if not found.pinned] == [image.id]
    assert [path.name for path in holders.iterdir()] == ["whole"]
    assert layer_directories(again) == 1


async def test_a_damaged_catalog_costs_the_images_and_nothing_else(store: ImageStore, tmp_path: Path) -> None:
    (image,) = await store.load(archive(tmp_path / "image.tar", "app:1", BASE))
    store.hold("running", image.id)
    (store.root / "catalog.json").write_bytes(b"not JSON")
    again = ImageStore(store.root)
    assert [found.id for found in await again.list_images() if not found.pinned] == []
    assert (store.root / "catalog.json.damaged").read_bytes() == b"not JSON"
    assert layer_directories(again) == 1
    assert (await again.load(tmp_path / "image.tar"))[0].id == image.id


async def test_the_same_tag_for_another_image_moves(store: ImageStore, tmp_path: Path) -> None:
    (first,) = await store.load(archive(tmp_path / "a.tar", "app", BASE))
    (second,) = await store.load(archive(tmp_path / "b.tar", "app", TOP))
    found = await store.image_status("app")
    assert found is not None
    assert found.id == second.id
    nameless = await store.image_status(first.id)
    assert nameless is not None
    assert nameless.tags == ()


async def test_a_layer_that_is_not_what_it_claims_is_refused(store: ImageStore, tmp_path: Path) -> None:
    forged = docker_archive(tmp_path / "a.tar", "app", [TOP], configuration([BASE]))
    with pytest.raises(ImageFailure, match="broken"):
        await store.load(forged)
    assert await store.image_status("app") is None
    assert layer_directories(store) == 0


@pytest.mark.parametrize("content", [b"no archive", Tree().add("file", b"x").tar()])
async def test_file_that_is_no_archive_is_refused(store: ImageStore, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(ImageFailure, match="not an image archive"):
        await store.load(tmp_path / "a.tar")
    with pytest.raises(ImageFailure, match="cannot be read"):
        await store.load(tmp_path / "missing.tar")


async def test_removing_what_is_not_here_is_not_found(store: ImageStore) -> None:
    for name in ("app", "sha256:" + "0" * 64):
        with pytest.raises(NotFound):
            await store.remove_image(name)


async def test_the_machine_is_an_image_that_is_always_here(store: ImageStore) -> None:
    image = await store.image_status("podling.local/host")
    assert image is not None
    assert (image.tags, image.pinned) == ((HOST_IMAGE,), True)
    assert await store.pull("podling.local/host") == image
    with pytest.raises(ImageFailure, match="built in"):
        await store.remove_image("podling.local/host")
    assert "/usr" in store.content(image.id).binds


async def test_an_archive_with_docker_and_oci_tables_is_read_by_dockers(
    store: ImageStore, tmp_path: Path
) -> None:
    config = configuration([BASE])
    tree = Tree().add("layer.tar", BASE).add("config.json", config)
    entry = {"Config": "config.json", "RepoTags": ["both:1"], "Layers": ["layer.tar"]}
    tree.add("manifest.json", json.dumps([entry]).encode()).add("index.json", b"{}")
    (tmp_path / "a.tar").write_bytes(tree.tar())
    (image,) = await store.load(tmp_path / "a.tar")
    assert image.tags == ("docker.io/library/both:1",)
