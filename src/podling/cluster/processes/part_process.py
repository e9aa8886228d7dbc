"""The life of a part's process: its event loop, its signs of life, its log, its start and its orderly end."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from functools import partial

from podling.allocator import Trimmer
from podling.cluster.garbage_collection import settle
from podling.cluster.lasting_tasks import run_until
from podling.cluster.own_log import OwnLog
from podling.cluster.processes.part_kinds import make_part
from podling.cluster.processes.reports import Failed, Ready, Reporter
from podling.cluster.processes.surroundings import RunningPart, Surroundings
from podling.cluster.start_failure import StartFailure, start_failures
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

DID_NOT_START = 3
"""The exit code of a part that has said why it cannot start."""


def run_part(surroundings: Surroundings) -> int:
    """Run a part in this process until a request to stop; return the exit code."""
    import uvloop

    _name_in_log(surroundings.part.name)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_live(surroundings, make_part(surroundings)))
    except StartFailure as error:
        surroundings.reporter.send(Failed(str(error)))
        return DID_NOT_START
    return 0


async def _live(surroundings: Surroundings, part: RunningPart) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    # A terminal sends SIGINT to all of them, and the supervisor decides the order of the end.
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    reporter = surroundings.reporter
    async with Supervisor() as supervisor:
        supervisor.keep_running("signs-of-life", reporter.keep_alive)
        supervisor.keep_running("memory", Trimmer().run)
        supervisor.keep_running("log", OwnLog(surroundings.directory.log).follow)
        try:
            if await _started(stop, part, reporter):
                supervisor.run_once("readiness", partial(_report_ready, part, reporter))
                await run_until(stop, part.tasks())
        finally:
            await part.stop()
            await supervisor.close()


async def _started(stop: asyncio.Event, part: RunningPart, reporter: Reporter) -> bool:
    """Start the part; return False if the request to stop came first."""
    stopped, starting = asyncio.create_task(stop.wait()), asyncio.create_task(part.start())
    await asyncio.wait([stopped, starting], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait([starting])
        return False
    with start_failures():
        reporter.send(starting.result())
    return True


async def _report_ready(part: RunningPart, reporter: Reporter) -> None:
    await part.ready()
    settle()
    reporter.send(Ready())


def _name_in_log(name: str) -> None:
    """Begin every line that this process logs with the part's name."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter(f"[{name}] %(message)s"))
    logging.getLogger().addHandler(handler)
