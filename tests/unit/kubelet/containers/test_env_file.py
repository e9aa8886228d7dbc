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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A='1'", "1"),
        ("A='1'\r\n", "1"),
        ("# note\n\n \tB='x'\n  A='two  words' # comment\n", "two  words"),
        ("A='a=\"b\" $C \\n'\t#\n", 'a="b" $C \\n'),
        ("B='l1\n# l2'\nA='l1\n\nl3' # end\n", "l1\n\nl3"),
        ("A='1'\nA='2'\nmalformed\n", "1"),
        ("A= 'ignored'\n", ""),
        ("A=''\n", ""),
        ("B='1'\n", ""),
        ("", ""),
    ],
)
def test_variable_is_in_single_quotes(text: str, value: str) -> None:
    assert parse_env_file(text, "A") == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A=1\n", "at line 1: value must be enclosed in single quotes"),
        ("A=\n", "at line 1: value must be enclosed in single quotes"),
        ("#\nB=\"x\"\nA='1'\n", "at line 2: value must be enclosed in single quotes"),
        ("B='l1\nl2'\nnonsense\n", "at line 3: missing '='"),
        ("='1'\n", "at line 1: empty variable name"),
        ("A ='1'\n", "at line 1: whitespace before '=' is not allowed"),
        ("A='1'2\n", "at line 1: unexpected content after closing quote"),
        ("A='l1\nl2' l3'\n", "at line 2: unexpected content after closing quote"),
        ("\nA='l1\nl2\n", "starting at line 2: unclosed single quote"),
    ],
)
def test_malformed_line_is_named(text: str, why: str) -> None:
    with pytest.raises(ValueError, match="invalid environment variable format") as error:
        parse_env_file(text, "A")
    assert str(error.value) == f"invalid environment variable format {why}"


@pytest.mark.parametrize("optional", [True, False])
def test_empty_variable_counts_as_missing(volume: Path, optional: bool) -> None:
    (volume / "empty").write_text("A=''\n")
    selector = FileKeySelector(key="A", path="empty", volume_name="v", optional=optional)

    async def story() -> None:
        if optional:
            assert await read_env_file("pod", volume, selector) is None
            return
        with pytest.raises(MissingReference, match="key A not found"):
            await read_env_file("pod", volume, selector)

    run(story())


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
