"""Termination messages: ends of logs, and files."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from podling.kubelet import labels
from podling.kubelet.containers.termination_messages import join_messages, log_tail, termination_message
from podling.runtime.base import Container, ContainerState
from podling.runtime.process.runtime import ProcessRuntime
from podling.sim.loop import EPOCH


def test_log_tail_keeps_the_last_lines() -> None:
    lines = b"".join(b"2026-01-01T00:00:00Z stdout F line %d\n" % n for n in range(100))
    tail = log_tail(lines + b"2026-01-01T00:00:00Z stderr P half \n2026-01-01T00:00:00Z stderr F whole\n")
    assert tail.splitlines()[0] == "line 21"
    assert tail.endswith("line 99\nhalf whole\n")


def test_messages_of_runtime_and_container_are_joined() -> None:
    assert [join_messages(*pair) for pair in (("", ""), ("a", ""), ("", "b"), ("a", "b"))] == [
        "",
        "a",
        "b",
        "a: b",
    ]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


@pytest.mark.parametrize(
    ("path", "text"), [("good", "A='1'\n"), ("inside", ""), ("pipe", ""), ("device", "")]
)
def test_termination_message_is_a_regular_file(volume: Path, path: str, text: str) -> None:
    ended = Container(
        id="c",
        name="app",
        sandbox_id="s",
        attempt=0,
        created_at=EPOCH,
        state=ContainerState.EXITED,
        labels={labels.POD_UID: "pod"},
        annotations={labels.TERMINATION_MESSAGE_HOST_PATH: str(volume / path)},
    )

    async def story() -> None:
        assert await termination_message(ProcessRuntime(volume), ended) == text

    run(story())
