"""Files of environment variables."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import (
    FileKeySelector,
)
from podling.kubelet.containers.env_file import parse_env_file, read_env_file
from podling.kubelet.failures import MissingReference
from podling.runtime.oci.linux import open_file_in_root


def test_env_file_lines_are_parsed() -> None:
    assert parse_env_file("# note\nA=1\n\nB = 'two words'\nC=a=b\n") == {
        "A": "1",
        "B": "two words",
        "C": "a=b",
    }
    with pytest.raises(ValueError, match="line 2"):
        parse_env_file("A=1\nnonsense\n")


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


@pytest.mark.parametrize("path", ["good", "inside"])
def test_env_file_is_read(volume: Path, path: str) -> None:
    selector = FileKeySelector(key="A", path=path, volume_name="v")

    async def story() -> None:
        assert await read_env_file("pod", volume, selector) == "1"

    run(story())


@pytest.mark.parametrize(
    "path", ["pipe", "link", "absolute", "up/outside", "../outside", "directory", "device", "missing"]
)
def test_env_file_is_a_regular_file_of_the_volume(volume: Path, path: str) -> None:
    selector = FileKeySelector(key="A", path=path, volume_name="v")

    async def story() -> None:
        with pytest.raises(MissingReference, match="couldn't parse env file"):
            await read_env_file("pod", volume, selector)

    run(story())


def test_env_files_with_a_nul_in_their_path_are_refused(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("KEY=value\n")
    with pytest.raises(OSError, match="Invalid argument"):
        open_file_in_root(tmp_path, "env\0more")
