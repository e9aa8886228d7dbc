"""The time of the cluster that a command reads: the machine's, unless the cluster's clock is wound."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from podling import clock
from podling.cluster.directory import DataDirectory

T = TypeVar("T")


def in_cluster_time(directory: DataDirectory, work: Coroutine[Any, Any, T]) -> tuple[T, datetime]:
    """Run ``work`` with the cluster's time as its own; return its result and the time at which it ended.

    Raises what ``work`` raises, and ``Failure`` if a wound clock cannot be read.
    """
    if not directory.settings().is_wound:
        return asyncio.run(work), clock.now()
    from podling.cli.clock import request_clock
    from podling.sim.standing_loop import run_at

    try:
        now = datetime.fromisoformat(request_clock(directory, "", None)["now"])
    except BaseException:
        work.close()
        raise
    return run_at(now, work), now
