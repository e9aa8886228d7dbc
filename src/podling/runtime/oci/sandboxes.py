"""Sandboxes: created whole or not at all, stopped, removed, and found again after a restart.

Invariant: a sandbox has a record from before its first part exists until after its last is gone. A
record that is not ``complete`` is the intent of a sandbox that no caller has seen; the next start removes
it with its parts.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from podling import clock, ids
from podling.cancellation import cancel_and_settle
from podling.runtime.base import (
    ContainerEvent,
    ContainerEventType,
    NotFound,
    RuntimeFailure,
    Sandbox,
    SandboxSpec,
)
from podling.runtime.failures import remove_all
from podling.runtime.oci import sandbox as namespaces
from podling.runtime.oci.containers import Containers
from podling.runtime.oci.host import Host
from podling.runtime.oci.init import end_init, init_alive, start_init
from podling.runtime.oci.records import Records, SandboxRecord
from podling.runtime.oci.threads import in_thread, wait_for_end


class Sandboxes:
    """Every sandbox of one runtime."""

    def __init__(self, host: Host, containers: Containers) -> None:
        self._host = host
        self._containers = containers
        self.records = Records(host.root / "sandboxes", SandboxRecord)
        self._locks: dict[str, asyncio.Lock] = {}

    def need(self, sandbox_id: str) -> SandboxRecord:
        record = self.records.get(sandbox_id)
        if record is None:
            raise NotFound(f"sandbox {sandbox_id!r} is not here")
        return record

    def need_ready(self, sandbox_id: str) -> SandboxRecord:
        record = self.need(sandbox_id)
        if not self.is_ready(record):
            raise RuntimeFailure(f"sandbox {sandbox_id} is not ready")
        return record

    def is_ready(self, record: SandboxRecord) -> bool:
        """Return whether it is complete, was not stopped, and has its namespaces (a reboot ends them)."""
        if not record.complete or record.stopped:
            return False
        place = self._host.place(record.id)
        own = namespaces.own_namespaces(record.namespaces)
        if record.namespaces.share_processes and not record.namespaces.host_pid and not init_alive(record):
            return False
        return namespaces.are_pinned(place, own)

    def shown(self, pod_uid: str = "") -> tuple[Sandbox, ...]:
        """Return all sandboxes, or those of one pod: each costs some system calls."""
        return tuple(
            record.shown(ready=self.is_ready(record))
            for record in self.records.all()
            if record.complete and pod_uid in ("", record.pod_uid)
        )

    async def run(self, spec: SandboxSpec) -> Sandbox:
        """Make a sandbox; on failure nothing of it is left."""
        host = self._host
        sandbox_id = ids.hex_id()
        record = self.records.save(
            SandboxRecord(
                id=sandbox_id,
                pod_uid=spec.pod_uid,
                pod_name=spec.pod_name,
                pod_namespace=spec.pod_namespace,
                attempt=spec.attempt,
                created_at=clock.now(),
                hostname=spec.hostname or spec.pod_name,
                cgroup=spec.cgroup_parent or f"{host.cgroup_parent}/pod{spec.pod_uid}",
                namespaces=spec.namespaces,
                engine=host.by_handler(spec.runtime_handler).engine.name,
                labels=dict(spec.labels),
                annotations=dict(spec.annotations),
            )
        )
        try:
            record = await self._build(record, spec)
        except BaseException as error:
            # A part that cannot be removed now keeps its record, and the next start tries again.
            with suppress(RuntimeFailure, OSError):
                await self._tear_down(record)
            if isinstance(error, OSError):
                raise RuntimeFailure(f"the sandbox cannot be made: {error}") from error
            raise
        self.records.save(record)
        return record.shown(ready=True)

    async def _build(self, record: SandboxRecord, spec: SandboxSpec) -> SandboxRecord:
        host = self._host

        def limit() -> None:
            host.cgroups.create(record.cgroup, spec.resources)

        # The warm-up takes the kernel longest, so nothing delays the cgroup that has to be there first.
        limited = asyncio.ensure_future(
            in_thread(limit, undo=wait_for_end, then=host.warm_up.wait, first=True)
        )
        connected = asyncio.ensure_future(self._connect(record, spec))
        try:
            _, ips = await asyncio.gather(limited, connected)
        except BaseException:
            await cancel_and_settle(limited, connected)
            raise
        if spec.namespaces.share_processes and not spec.namespaces.host_pid:
            record = self.records.save(await start_init(host.by_handler(record.engine), record))
        return replace(record, complete=True, ips=ips)

    async def _connect(self, record: SandboxRecord, spec: SandboxSpec) -> tuple[str, ...]:
        """Make the namespaces and connect them to the pod network; return the pod's addresses."""
        place = self._host.place(record.id)

        def make() -> None:
            spec.log_directory.mkdir(parents=True, exist_ok=True)
            namespaces.make_namespaces(place, spec.namespaces, record.hostname, spec.domainname, spec.sysctls)

        await in_thread(make, undo=wait_for_end)
        if spec.namespaces.host_network:
            return ()
        return await self._host.network.attach(record.id, place.namespace("net"), spec)

    async def stop(self, sandbox_id: str) -> None:
        """Kill what runs inside and give back the network; repeated calls succeed."""
        if self.records.get(sandbox_id) is None:
            return
        async with self._lock(sandbox_id):
            record = self.records.get(sandbox_id)
            if record is not None:
                await self._stop(record)

    async def _stop(self, record: SandboxRecord) -> None:
        await self._kill(record)
        await self._give_back(record)

    async def _kill(self, record: SandboxRecord) -> None:
        running = [self._containers.stop(one.id, 0, "") for one in self._containers.of(record.id)]
        await asyncio.gather(*running)
        await end_init(self._host, record)

    async def _give_back(self, record: SandboxRecord) -> None:
        """Give back the network and the namespaces of a sandbox in which nothing runs."""
        was_ready = not record.stopped
        await self._disconnect(record)
        await in_thread(lambda: namespaces.remove_place(self._host.place(record.id)))
        self.records.note(replace(record, stopped=True))
        if was_ready:
            self._host.feeds.report(
                ContainerEvent(
                    type=ContainerEventType.SANDBOX_STOPPED,
                    pod_uid=record.pod_uid,
                    sandbox_id=record.id,
                    at=clock.now(),
                )
            )

    async def remove(self, sandbox_id: str) -> None:
        """Remove a sandbox with all its containers; succeeds when it is gone already."""
        if self.records.get(sandbox_id) is None:
            return
        async with self._lock(sandbox_id):
            record = self.records.get(sandbox_id)
            if record is None:
                return
            if record.stopped:
                await self._remove_containers(sandbox_id)
            else:
                await self._kill(record)
                parts = self._give_back(record), self._remove_containers(sandbox_id)
                # The kernel takes its time for each, and both are over before the lock is given back.
                for failure in filter(None, await asyncio.gather(*parts, return_exceptions=True)):
                    raise failure
            await self._tear_down(record)
        self._locks.pop(sandbox_id, None)

    async def _remove_containers(self, sandbox_id: str) -> None:
        for container in self._containers.of(sandbox_id):
            await self._containers.remove(container.id)

    async def _tear_down(self, record: SandboxRecord) -> None:
        """Remove every part that exists; can be repeated, in any state of the sandbox.

        One part that cannot be removed does not keep the others; the record stays until all are gone.
        """
        host = self._host
        await remove_all(
            f"sandbox {record.id}",
            end_init(host, record),
            self._disconnect(record),
            in_thread(lambda: self._erase(record)),
        )
        self.records.forget(record.id)
        if not self.records.all():
            # Ours goes with the last pod; parents that the kubelet named are the kubelet's.
            await asyncio.to_thread(host.cgroups.remove_if_empty, host.cgroup_parent)

    async def _disconnect(self, record: SandboxRecord) -> None:
        if not record.namespaces.host_network:
            await self._host.network.detach(record.id, self._host.place(record.id).namespace("net"))

    def _erase(self, record: SandboxRecord) -> None:
        namespaces.remove_place(self._host.place(record.id))
        others = [other for other in self.records.all() if other.id != record.id]
        if not any(other.cgroup == record.cgroup for other in others):
            self._host.cgroups.remove(record.cgroup)

    async def adopt(self) -> None:
        """After our own death: remove what was never completed."""
        for record in self.records.all():
            if not record.complete:
                for container in self._containers.of(record.id):
                    await self._containers.remove(container.id)
                await self._tear_down(record)

    def _lock(self, sandbox_id: str) -> asyncio.Lock:
        return self._locks.setdefault(sandbox_id, asyncio.Lock())
