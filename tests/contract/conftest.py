"""Fixtures of contract tests: the ways to reach an API server; rewriting of asserts in shared files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from podling.sim.loop import run
from tests.contract.client_stories import Play, Story, by_a_worker, in_process, over_tls, over_unix_socket
from tests.support.served import ServedCluster

pytest.register_assert_rewrite(
    "tests.contract.runtime_lives", "tests.contract.runtime_programs", "tests.contract.runtime_streams"
)


REAL = {"over TLS": over_tls, "by a worker": by_a_worker, "over a Unix socket": over_unix_socket}


@pytest.fixture(params=["in process", *REAL])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    """A function that runs a story with one of the clients."""
    if request.param == "in process":
        return lambda story: run(in_process(story))
    over = REAL[request.param]

    def real(story: Story) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as a cluster runs
            runner.run(over(story, tmp_path))

    return real


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    """A cluster behind a real TLS socket, one for all the tests of a file."""
    with ServedCluster(tmp_path_factory.mktemp("served")) as running:
        yield running
