"""Checks of an image before a container is created."""

from __future__ import annotations

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.images.image_documents import RunConfig
from podling.runtime.images.records import ImageContent
from podling.runtime.oci.prepare import check_platform


def image(os: str, architecture: str) -> ImageContent:
    config = RunConfig()
    return ImageContent(id="i", ref="i", layers=(), config=config, architecture=architecture, os=os)


def test_an_image_of_another_machine_is_named() -> None:
    check_platform(image("linux", "amd64"), "amd64", emulated=False)
    check_platform(image("", ""), "amd64", emulated=False)
    check_platform(image("linux", "arm64"), "amd64", emulated=True)
    with pytest.raises(RuntimeFailure) as caught:
        check_platform(image("linux", "arm64"), "amd64", emulated=False)
    assert str(caught.value) == "image is built for linux/arm64, this node is linux/amd64"
    with pytest.raises(RuntimeFailure, match="image is built for windows/amd64"):
        check_platform(image("windows", "amd64"), "amd64", emulated=True)
