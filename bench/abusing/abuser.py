"""The process of the abuser: it prepares its requests, waits for the start, and reports its results."""

from __future__ import annotations

import asyncio
import os
from multiprocessing.connection import Connection

import uvloop

from bench.abusing.deeds import BY_NAME
from bench.abusing.wire import Endpoint, tls_of
from bench.abusing.work import CONNECTIONS, Abuser, Tally, Work, prepare_deed


def run(parent: Connection, deed: str, endpoint: Endpoint, seconds: float, niceness: int) -> None:
    """Do a deed for some seconds. Sends None when it is prepared, and its ``Tally`` at the end."""
    os.nice(niceness)
    work = BY_NAME[deed].work(endpoint)
    abuser = Abuser(endpoint, tls_of(endpoint), Tally())
    uvloop.run(_run(parent, work, abuser, seconds))
    parent.send(abuser.tally)
    os._exit(0)  # the kernel closes the connections at once, as for a client that is killed


async def _run(parent: Connection, work: Work, abuser: Abuser, seconds: float) -> None:
    # A connection that is aborted while it reads is reported by uvloop as an error.
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    await prepare_deed(abuser, work)
    parent.send(None)
    await asyncio.to_thread(parent.recv)
    tasks = [asyncio.ensure_future(work.drive(abuser, number)) for number in range(CONNECTIONS)]
    done, left = await asyncio.wait(tasks, timeout=seconds)
    for task in left:
        task.cancel()
    for task in done:
        task.result()
