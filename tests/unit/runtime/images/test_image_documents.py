"""The choice of an index's image for this machine."""

from __future__ import annotations

import pytest

from podling.runtime.base import ImageFailure
from podling.runtime.images.image_documents import (
    Descriptor,
    Platform,
    choose_platform,
    decode_image,
    parse_platform,
)


def entry(digest: str, architecture: str, variant: str = "", os: str = "linux") -> Descriptor:
    return Descriptor(digest=digest, platform=Platform(architecture=architecture, variant=variant, os=os))


INDEX = [
    entry("intel", "amd64"),
    entry("intel-v3", "amd64", "v3"),
    entry("old-arm", "arm", "v6"),
    entry("arm", "arm", "v7"),
    entry("new-arm", "arm64", "v8"),
    entry("windows", "amd64", os="windows"),
    entry("attestation", "unknown", os="unknown"),
]


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("linux/amd64", "intel"),
        ("linux/amd64/v3", "intel-v3"),
        ("linux/arm64", "new-arm"),
        ("linux/arm64/v8", "new-arm"),
        ("linux/arm/v7", "arm"),
        ("linux/arm", "old-arm"),
        ("windows/amd64", "windows"),
        ("", "intel"),
    ],
)
def test_the_image_for_a_platform(wanted: str, chosen: str) -> None:
    assert choose_platform(INDEX, parse_platform(wanted, "amd64")).digest == chosen


def test_without_one_the_message_lists_what_there_is() -> None:
    with pytest.raises(ImageFailure) as caught:
        choose_platform(INDEX, parse_platform("linux/riscv64", "amd64"))
    assert str(caught.value) == (
        "no match for platform linux/riscv64 in the image's index: "
        "it has linux/amd64, linux/amd64/v3, linux/arm/v6, linux/arm/v7, linux/arm64/v8, windows/amd64"
    )


def test_an_index_of_one_image_without_a_platform_is_that_image() -> None:
    assert choose_platform([Descriptor(digest="only")], parse_platform("", "amd64")).digest == "only"


def test_a_broken_document_is_an_image_failure() -> None:
    with pytest.raises(ImageFailure, match="image configuration cannot be read"):
        decode_image(b"{")
