"""``podling up --clock``: a cluster whose time is the machine's, or one whose clock is wound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from podling import clock
from podling.cli.common_options import Failure
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.winding import Winding

if TYPE_CHECKING:
    from podling.cluster.cluster import Cluster

CLOCKS = ("machine", "virtual")

T = TypeVar("T")

clock_option = click.option(
    "--clock",
    type=click.Choice(CLOCKS),
    help="The clock of a new cluster: the machine's, or with --runtime sim a virtual one, which stands still "
    "until 'podling clock' winds it; then objects are kept in memory only.  [default: as last time, or "
    "machine]",
)


def chosen_clock(chosen: Mapping[str, Any], last: ClusterSettings, directory: DataDirectory) -> str:
    """Return the clock of this run. Raises ``Failure`` for one that the other options exclude."""
    wanted: str = chosen["clock"] or last.clock
    ran_before = bool(last.runtime) or last.api_only
    if ran_before and wanted != last.clock:
        raise Failure(
            f"the cluster in {directory.path} has a {last.clock} clock; start one with another in a "
            "directory of its own: --data-dir DIR"
        )
    if wanted == "virtual":
        if (chosen["runtime"] or last.runtime) != "sim":
            raise Failure("--clock virtual needs --runtime sim: real containers live in the machine's time")
        if (chosen["processes"] or last.processes) == "several" or chosen["api_workers"]:
            raise Failure("--clock virtual needs --processes one: a clock is wound in one process")
        if chosen["advertise_address"] or last.advertise_address:
            raise Failure("--clock virtual excludes --advertise-address: other machines keep their own time")
    return wanted


def loop_factory(settings: ClusterSettings) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the function that makes the event loop of a cluster."""
    if settings.is_wound:
        from podling.sim.wound_loop import WoundLoop

        return lambda: WoundLoop(clock.now())
    import uvloop

    return uvloop.new_event_loop


@asynccontextmanager
async def leaping(cluster: Cluster) -> AsyncIterator[None]:
    """Let a wound clock leap over the rounds of a cluster that is about to start, until the block ends."""
    winding = clock.wound_clock()
    if not isinstance(winding, Winding):
        yield
        return
    from podling.sim.idle.idle_time import IdleTime
    from podling.sim.idle.lease_renewals import LeaseRenewals

    leases = LeaseRenewals(lambda: cluster.store)
    cluster.keep_lease = partial(leases.keep, None)
    winding.may_leap = IdleTime(lambda: cluster.store, leases).is_idle
    try:
        yield
    finally:
        await leases.close()


async def while_time_passes(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns; a clock that stands still is wound until then."""
    winding = clock.wound_clock()
    return await (winding.run_while(work) if isinstance(winding, Winding) else work)
