"""One image, one name: how what users write becomes the full spelling."""

from __future__ import annotations

import pytest

from podling.runtime.base import ImageFailure
from podling.runtime.images.image_names import image_id, parse

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.28", "docker.io/library/busybox:1.28"),
        ("library/busybox", "docker.io/library/busybox:latest"),
        ("docker.io/busybox", "docker.io/library/busybox:latest"),
        ("index.docker.io/busybox", "docker.io/library/busybox:latest"),
        ("team/app:v1", "docker.io/team/app:v1"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        ("10.0.0.1:5000/a/b/c:x.y-z_0", "10.0.0.1:5000/a/b/c:x.y-z_0"),
        ("Registry/app", "Registry/app:latest"),
        ("[::1]:5000/app", "[::1]:5000/app:latest"),
        (f"busybox@{DIGEST}", f"docker.io/library/busybox@{DIGEST}"),
        (f"busybox:1.28@{DIGEST}", f"docker.io/library/busybox@{DIGEST}"),
        ("a__b/c---d.e_f", "docker.io/a__b/c---d.e_f:latest"),
    ],
)
def test_names_are_completed(written: str, full: str) -> None:
    assert parse(written).full == full


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "invalid reference format"),
        ("Not A Name", "repository name (library/Not A Name) must be lowercase"),
        ("Busybox", "repository name (library/Busybox) must be lowercase"),
        ("busybox:", "invalid reference format"),
        ("busybox:-tag", "invalid reference format"),
        ("busybox:" + "t" * 129, "invalid reference format"),
        ("busybox@sha256:short", "invalid reference format"),
        ("-busybox", "invalid reference format"),
        ("a//b", "invalid reference format"),
        ("a" * 256, "repository name must not be more than 255 characters"),
        ("f" * 64, "cannot specify 64-byte hexadecimal strings"),
        ("host!/app", "invalid reference format"),
    ],
)
def test_invalid_image_name_is_refused_with_reason(written: str, why: str) -> None:
    with pytest.raises(ImageFailure) as caught:
        parse(written)
    assert caught.value.reason == "InvalidImageName"
    assert str(caught.value).startswith(f'couldn\'t parse image name "{written}": ')
    assert why in str(caught.value)


def test_a_name_that_was_completed_stays_as_it_is() -> None:
    for written in ("busybox", "localhost:5000/app", f"busybox@{DIGEST}", "registry.k8s.io/pause:3.9"):
        once = parse(written).full
        assert parse(once).full == once


def test_digests_belong_to_a_repository() -> None:
    assert parse("busybox:1.28").at(DIGEST) == f"docker.io/library/busybox@{DIGEST}"


def test_image_ids_differ_from_names() -> None:
    assert image_id(DIGEST) == DIGEST
    assert image_id(DIGEST.removeprefix("sha256:")) == DIGEST
    assert image_id("busybox") == ""
