"""Disk images: their size, growth, mounts and devices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.files.disk_images import (
    BLOCK,
    EXT4,
    attach_image,
    copy_bytes,
    detach_image,
    devices_of,
    enlarge_image,
    fill_image,
    make_image,
    missing_for_images,
    mount,
    mount_device,
    mount_image,
    mounted_image,
    release_image,
)
from podling.kubelet.volumes.mounting import unmount
from tests.support.loop_devices import lasting_devices

pytestmark = pytest.mark.skipif(bool(missing_for_images()), reason=missing_for_images() or "can run")

MIB = 1 << 20


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "image"
    for place in tmp_path.iterdir():
        unmount(place)
    detach_image(tmp_path / "image")
    assert not (tmp_path / "image").exists() or lasting_devices(tmp_path / "image") == ()


def size(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_blocks * found.f_frsize


def test_file_system_is_empty_open_to_all_and_limited(image: Path, tmp_path: Path) -> None:
    make_image(image, 4 * MIB, EXT4)
    assert image.stat().st_blocks * 512 < 4 * MIB, "space is taken as it fills"
    with mounted_image(image, tmp_path / "m") as place:
        assert os.listdir(place) == []
        assert place.stat().st_mode & 0o777 == 0o777
        with pytest.raises(OSError, match="No space left"):
            (place / "big").write_bytes(bytes(5 * MIB))
    assert not (tmp_path / "m").exists()


def test_all_mounts_share_one_device_and_the_last_detaches_it(image: Path, tmp_path: Path) -> None:
    make_image(image, 4 * MIB, EXT4)
    places = [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
        mount_image(image, place)
    assert len(devices_of(image)) == 1
    (places[0] / "file").write_text("x")
    assert (places[1] / "file").read_text() == "x"
    for place in places:
        unmount(place)
    assert lasting_devices(image) == ()


def test_place_that_an_earlier_process_left_mounted_is_used_again(image: Path, tmp_path: Path) -> None:
    make_image(image, 4 * MIB, EXT4)
    place = tmp_path / "m"
    place.mkdir()
    mount_image(image, place)
    (place / "file").write_text("x")
    with mounted_image(image, place):
        assert (place / "file").read_text() == "x"
    assert lasting_devices(image) == ()


@pytest.mark.parametrize("by_the_mount", [True, False])
def test_file_system_grows_to_the_size_of_its_image(image: Path, tmp_path: Path, by_the_mount: bool) -> None:
    make_image(image, 4 * MIB, EXT4)
    enlarge_image(image, 16 * MIB)
    enlarge_image(image, 8 * MIB)
    assert image.stat().st_size == 16 * MIB, "it never shrinks"
    if not by_the_mount:
        fill_image(image)
    place = tmp_path / "m"
    place.mkdir()
    mount_image(image, place, fill=by_the_mount)
    assert size(place) > 10 * MIB
    assert os.listdir(place) == []


def test_device_has_the_bytes_of_the_image_until_its_last_user_goes(image: Path, tmp_path: Path) -> None:
    make_image(image, MIB, BLOCK)
    device = attach_image(image, "one")
    assert attach_image(image, "two") == device
    with Path(device).open("r+b") as opened:
        opened.write(b"written")
    release_image(image, "one")
    assert devices_of(image) == (device,)
    enlarge_image(image, 2 * MIB)
    with Path(device).open("rb") as larger:
        assert larger.seek(0, os.SEEK_END) == 2 * MIB
    release_image(image, "two")
    assert lasting_devices(image) == ()
    assert image.read_bytes()[:7] == b"written"
    release_image(tmp_path / "gone", "two")
    other = tmp_path / "other"
    make_image(other, 3 * MIB, BLOCK)
    copy_bytes(image, other)
    assert (other.stat().st_size, other.read_bytes()[:7]) == (3 * MIB, b"written")


def test_empty_device_gets_a_file_system_once(image: Path, tmp_path: Path) -> None:
    make_image(image, 8 * MIB, BLOCK)
    device = Path(attach_image(image, "one"))
    place = tmp_path / "m"
    place.mkdir()
    mount_device(device, place, EXT4)
    (place / "file").write_text("x")
    unmount(place)
    mount_device(device, place, EXT4, ("noatime",))
    assert (place / "file").read_text() == "x"
    unmount(place)
    release_image(image, "one")


def test_failed_mount_has_the_form_of_kubernetes(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mount failed") as failure:
        mount("ext4", "/absent", tmp_path, ("ro",))
    first, *rest = (failure.value.strerror or "").splitlines()
    assert first == "mount failed: exit status 32"
    assert rest[:2] == [
        "Mounting command: mount",
        f"Mounting arguments: -t ext4 -o ro /absent {tmp_path}",
    ]
    assert rest[2].startswith("Output: mount: ")
