"""Leader election on a Lease: of several processes, one at a time does the work.

The rules are client-go's ``tools/leaderelection``. A holder renews every 2 s and steps down when it
could not for 10 s; others may take a lease whose holder was not *seen* to renew for 15 s. "Seen" is
the point: a candidate times the record by its own clock from when it saw it change, so clocks that
differ between machines cannot make two leaders. The margin between 10 and 15 s is the safety.

``decide`` is pure; ``LeaderElector`` carries it out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from msgspec import structs

from podling import clock, ids
from podling.api.coordination_v1 import Lease, LeaseSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client, Key, Unreachable
from podling.client.events import EventRecorder
from podling.machinery.errors import ApiError, is_not_found

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds; the defaults of client-go's components."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    jitter_factor: float = 1.2


DEFAULT_TIMING = Timing()


@dataclass(frozen=True, slots=True)
class Sighting:
    """The lease's record as last seen to change, and when that was on our own (monotonic) clock."""

    record: LeaseSpec
    at: float


@dataclass(frozen=True, slots=True)
class Write:
    """Write this record: it takes the lease or renews it."""

    record: LeaseSpec


@dataclass(frozen=True, slots=True)
class Wait:
    """Another candidate holds the lease."""

    holder: str


def sight(previous: Sighting | None, record: LeaseSpec, at: float) -> Sighting:
    """Keep the time of the first sight of an unchanged record."""
    return previous if previous is not None and previous.record == record else Sighting(record, at)


def decide(
    identity: str, sighting: Sighting | None, timing: Timing, now: datetime, monotonic: float
) -> Write | Wait:
    """Decide whether ``identity`` may write the lease now, and its contents.

    Args:
        sighting: None without a lease.
    """
    duration = int(timing.lease_duration)
    if sighting is None:
        return Write(_record(identity, duration, acquired=now, renewed=now, transitions=0))
    record = sighting.record
    holder = record.holder_identity or ""
    transitions = record.lease_transitions or 0
    if holder == identity:
        acquired = record.acquire_time or now
        return Write(_record(identity, duration, acquired=acquired, renewed=now, transitions=transitions))
    if holder and monotonic < sighting.at + timing.lease_duration:
        return Wait(holder)
    return Write(_record(identity, duration, acquired=now, renewed=now, transitions=transitions + 1))


def released(record: LeaseSpec, now: datetime) -> LeaseSpec:
    """The record a leader leaves behind when it steps down by itself: free to take at once."""
    return LeaseSpec(
        holder_identity="",
        lease_duration_seconds=1,
        acquire_time=now,
        renew_time=now,
        lease_transitions=record.lease_transitions,
    )


def _record(
    identity: str, duration: int, *, acquired: datetime, renewed: datetime, transitions: int
) -> LeaseSpec:
    return LeaseSpec(
        holder_identity=identity,
        lease_duration_seconds=duration,
        acquire_time=acquired,
        renew_time=renewed,
        lease_transitions=transitions,
    )


class LeaderElector:
    """Runs work while, and only while, this process leads.

    Args:
        identity: must differ between all candidates.
        lease: where the record is kept.
        recorder: records events on the Lease when a candidate becomes leader or stops leading.
    """

    def __init__(
        self,
        client: Client,
        lease: Key,
        identity: str,
        *,
        recorder: EventRecorder | None = None,
        timing: Timing = DEFAULT_TIMING,
    ) -> None:
        self._client = client
        self._lease = lease
        self._identity = identity
        self._recorder = recorder
        self._timing = timing
        self._stored: Lease | None = None
        self._sighting: Sighting | None = None

    @property
    def leader(self) -> str:
        """The last holder of the lease seen; empty for none."""
        return (self._sighting.record.holder_identity or "") if self._sighting else ""

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lead, run ``work``, and return when either the work or the lead has ended.

        Work is cancelled when the lead is lost. When it ends by itself, or this call is cancelled, the
        lease is released so that another can take it at once.
        """
        await self._acquire()
        self._tell("became leader")
        logger.info("%s leads %s", self._identity, self._lease)
        working = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._renew(), name=f"leader/{self._lease}")
        lost = False
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            lost = renewing.done() and not working.done()
        finally:
            renewing.cancel()
            working.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            self._tell("stopped leading")
            if not lost:
                await self._release()
        if not working.cancelled():
            working.result()

    async def _acquire(self) -> None:
        while not await self._try():
            period = self._timing.retry_period
            await clock.sleep(ids.uniform(period, period * (1 + self._timing.jitter_factor)))

    async def _renew(self) -> None:
        """Renew until that has failed for the whole renew deadline."""
        renewed = clock.monotonic()
        while True:
            await clock.sleep(self._timing.retry_period)
            try:
                async with asyncio.timeout(renewed + self._timing.renew_deadline - clock.monotonic()):
                    succeeded = await self._try()
            except TimeoutError:
                succeeded = False
            now = clock.monotonic()
            if succeeded:
                renewed = now
            elif now >= renewed + self._timing.renew_deadline:
                logger.warning("%s lost %s: it could not be renewed in time", self._identity, self._lease)
                return

    async def _try(self) -> bool:
        """One attempt to take or renew the lease; whether we hold it now."""
        try:
            await self._look()
            decision = decide(self._identity, self._sighting, self._timing, clock.now(), clock.monotonic())
            if isinstance(decision, Wait):
                return False
            await self._write(decision.record)
        except (ApiError, Unreachable) as error:
            logger.info("%s could not write %s: %s", self._identity, self._lease, error)
            return False
        except Exception:
            logger.exception("%s could not write %s", self._identity, self._lease)
            return False
        return True

    async def _look(self) -> None:
        try:
            self._stored = await self._client.get(Lease, self._lease.name, self._lease.namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise
            self._stored = self._sighting = None
            return
        self._sighting = sight(self._sighting, self._stored.spec, clock.monotonic())

    async def _write(self, record: LeaseSpec) -> None:
        if self._stored is None:
            metadata = ObjectMeta(name=self._lease.name, namespace=self._lease.namespace)
            self._stored = await self._client.create(Lease(metadata=metadata, spec=record))
        else:
            self._stored = await self._client.update(structs.replace(self._stored, spec=record))
        self._sighting = Sighting(self._stored.spec, clock.monotonic())

    async def _release(self) -> None:
        if self.leader != self._identity or self._stored is None:
            return
        try:
            await self._write(released(self._stored.spec, clock.now()))
        except (ApiError, Unreachable) as error:
            logger.info("%s could not release %s: %s", self._identity, self._lease, error)

    def _tell(self, what: str) -> None:
        if self._recorder is not None and self._stored is not None:
            self._recorder.event(self._stored, "Normal", "LeaderElection", f"{self._identity} {what}")
