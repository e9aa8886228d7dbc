"""Pulls from a real registry: digests, platforms, logins, and what fails."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podling.runtime.base import Credentials, ImageFailure
from podling.runtime.images.store import ImageStore
from podling.runtime.platform import architecture
from tests.support.images import Tree, configuration, docker_archive, sha256
from tests.support.registry import PASSWORD, USER, Registry, registry

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not shutil.which("docker-registry"), reason="needs docker-registry"),
    pytest.mark.skipif(not shutil.which("skopeo"), reason="needs skopeo"),
]

LAYER = Tree().add("file", b"content").tar()


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "images")


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Registry]:
    with registry(tmp_path / "registry") as running:
        yield running


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Registry]:
    with registry(tmp_path / "registry", login=True) as running:
        yield running


def archive(tmp_path: Path, **options: str) -> str:
    config = configuration([LAYER], **options)  # type: ignore[arg-type]
    path = docker_archive(tmp_path / f"{sha256(config)[7:19]}.tar", "", [LAYER], config)
    return f"docker-archive:{path}"


def layout(directory: Path, architectures: list[str], layer: bytes = LAYER) -> str:
    """Return an OCI layout whose one image is an index with a manifest for each architecture."""
    blobs = directory / "blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(data: bytes, kind: str) -> dict[str, object]:
        (blobs / sha256(data)[7:]).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": sha256(data), "size": len(data)}

    def manifest(name: str) -> dict[str, object]:
        document = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blob(configuration([layer], architecture=name), "config.v1+json"),
            "layers": [blob(gzip.compress(layer, 1, mtime=0), "layer.v1.tar+gzip")],
        }
        described = blob(json.dumps(document).encode(), "manifest.v1+json")
        return described | {"platform": {"os": "linux", "architecture": name}}

    manifests = [manifest(name) for name in architectures]
    kind = "application/vnd.oci.image.index.v1+json"
    whole = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": manifests}).encode()
    index = {"schemaVersion": 2, "manifests": [blob(whole, "index.v1+json")]}
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return f"oci:{directory}"


async def test_a_pull_brings_tag_and_digest(store: ImageStore, public: Registry, tmp_path: Path) -> None:
    public.push(archive(tmp_path), "app:1")
    image = await store.pull(f"{public.address}/app:1")
    assert image.tags == (f"{public.address}/app:1",)
    (digest,) = image.digests
    assert digest.startswith(f"{public.address}/app@sha256:")
    assert await store.pull(digest) == image
    (layer,) = store.content(image.id).layers
    assert (layer / "file").read_bytes() == b"content"


async def test_a_tag_that_moved_is_followed(store: ImageStore, public: Registry, tmp_path: Path) -> None:
    public.push(archive(tmp_path), "app:1")
    first = await store.pull(f"{public.address}/app:1")
    public.push(archive(tmp_path, user="other"), "app:1")
    second = await store.pull(f"{public.address}/app:1")
    assert second.id != first.id
    assert await store.image_status(f"{public.address}/app:1") == second


async def test_an_index_gives_the_image_of_this_machine(
    store: ImageStore, public: Registry, tmp_path: Path
) -> None:
    public.push(layout(tmp_path / "layout", ["riscv64", architecture(), "s390x"]), "app:1")
    image = await store.pull(f"{public.address}/app:1")
    assert store.content(image.id).architecture == architecture()
    other = await store.pull(f"{public.address}/app:1", platform="linux/s390x")
    assert store.content(other.id).architecture == "s390x"
    assert other.digests == image.digests, "the digest is the index's, whichever image was taken from it"


async def test_an_index_without_this_machine_says_what_it_has(
    store: ImageStore, public: Registry, tmp_path: Path
) -> None:
    public.push(layout(tmp_path / "layout", ["riscv64", "s390x"]), "app:1")
    with pytest.raises(ImageFailure, match=r"it has linux/riscv64, linux/s390x") as caught:
        await store.pull(f"{public.address}/app:1")
    assert caught.value.reason == "ErrImagePull"


async def test_credentials_are_tried_in_turn(store: ImageStore, private: Registry, tmp_path: Path) -> None:
    private.push(archive(tmp_path), "app:1")
    name = f"{private.address}/app:1"
    with pytest.raises(ImageFailure, match=r"unauthorized|authentication required"):
        await store.pull(name)
    wrong, right = Credentials(username=USER, password="wrong"), Credentials(username=USER, password=PASSWORD)
    with pytest.raises(ImageFailure):
        await store.pull(name, [wrong])
    image = await store.pull(name, [wrong, right])
    assert image.tags == (name,)


async def test_missing_images_of_a_registry_are_reported(store: ImageStore, public: Registry) -> None:
    with pytest.raises(ImageFailure, match="manifest unknown") as caught:
        await store.pull(f"{public.address}/nothing:1")
    assert caught.value.reason == "ErrImagePull"
    assert [image.pinned for image in await store.list_images()] == [True]


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 255]) + data[1:]


def halved(data: bytes) -> bytes:
    return data[: len(data) // 2]


@pytest.mark.parametrize("damage", [flipped, halved])
@pytest.mark.parametrize("part", ["layer", "config", "manifest"])
async def test_damaged_content_of_a_registry_is_refused(
    store: ImageStore, public: Registry, tmp_path: Path, part: str, damage: Callable[[bytes], bytes]
) -> None:
    """The registry's disk is damaged; nothing of the image stays, and the registry's repair is enough."""
    public.push(layout(tmp_path / "layout", [architecture()]), "app:1")
    blobs = {path: path.read_bytes() for path in (tmp_path / "registry").glob("**/blobs/sha256/*/*/data")}
    layer = gzip.compress(LAYER, 1, mtime=0)
    kinds = {"layer": layer, "config": configuration([LAYER], architecture=architecture())}
    wanted = [
        p
        for p, data in blobs.items()
        if data == kinds.get(part) or (part == "manifest" and b"layers" in data)
    ]
    for path in wanted:
        path.write_bytes(damage(blobs[path]))
    assert wanted
    with pytest.raises(ImageFailure, match="failed to pull") as caught:
        await store.pull(f"{public.address}/app:1")
    assert caught.value.reason == "ErrImagePull"
    assert await store.image_status(f"{public.address}/app:1") is None
    assert os.listdir(store.root / "work") == []
    for path in wanted:
        path.write_bytes(blobs[path])
    assert (await store.pull(f"{public.address}/app:1")).tags == (f"{public.address}/app:1",)


async def test_a_registry_that_does_not_answer_says_so(store: ImageStore) -> None:
    with pytest.raises(ImageFailure, match="connection refused") as caught:
        await store.pull("127.0.0.1:1/app:1")
    assert caught.value.reason == "ErrImagePull"


async def test_a_cancelled_pull_leaves_nothing(store: ImageStore, public: Registry, tmp_path: Path) -> None:
    public.push(archive(tmp_path), "app:1")
    pulling = asyncio.create_task(store.pull(f"{public.address}/app:1"))
    work = store.root / "work"
    async with asyncio.timeout(10):
        while not (work.is_dir() and os.listdir(work)):
            await asyncio.to_thread(os.sched_yield)
    pulling.cancel()
    await asyncio.gather(pulling, return_exceptions=True)
    assert await store.image_status(f"{public.address}/app:1") is None
    assert os.listdir(work) == []
    assert (await store.pull(f"{public.address}/app:1")).tags == (f"{public.address}/app:1",)


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[ImageStore]:
    """A store on a file system of 40 MB."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)], check=True)
    try:
        yield ImageStore(place / "images")
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bytes(100 << 20), "cannot be unpacked: No space left on device"),
        (hashlib.shake_128(b"noise").digest(60 << 20), "cannot be kept: No space left on device"),
    ],
    ids=["a small layer that grows", "a layer that is large"],
)
async def test_an_image_that_does_not_fit_leaves_the_reserve(
    small_store: ImageStore, public: Registry, tmp_path: Path, content: bytes, said: str
) -> None:
    layer = Tree().add("large", content).tar()
    public.push(layout(tmp_path / "layout", [architecture()], layer), "large:1")
    await small_store.open()
    least = [1 << 60]
    pulling = asyncio.create_task(small_store.pull(f"{public.address}/large:1"))
    while not pulling.done():
        await asyncio.wait([pulling], timeout=0.005)
        found = os.statvfs(small_store.root)
        least.append(found.f_bavail * found.f_frsize)
    with pytest.raises(ImageFailure, match=said) as caught:
        await pulling
    assert caught.value.reason == "ErrImagePull"
    assert min(least) > 1 << 20
    assert os.listdir(small_store.root / "work") == []
    public.push(archive(tmp_path), "app:1")
    assert (await small_store.pull(f"{public.address}/app:1")).tags == (f"{public.address}/app:1",)


async def test_an_image_of_too_many_layers_is_refused(store: ImageStore, tmp_path: Path) -> None:
    layers = [LAYER] * 151
    path = docker_archive(tmp_path / "many.tar", "many:1", layers, configuration(layers))
    with pytest.raises(ImageFailure, match="the image has 151 layers, and 150 can be joined"):
        await store.load(path)
