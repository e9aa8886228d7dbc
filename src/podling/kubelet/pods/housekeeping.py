"""Periodic clean-up and relist, which find what no event reported.

Pods that only the runtime has are killed, and directories of unknown pods are removed: two seconds after the
last round (``rounds``) if a worker has come or gone since or something is still to end. Every few seconds the
whole runtime is listed, and a worker is woken if its pod differs from its last observation
(``HandlePodCleanups``, PLEG).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from podling import clock
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.blocking import blocking_for_pod
from podling.kubelet.observation import PodObservation
from podling.kubelet.pods.collaborators import PodServices
from podling.kubelet.pods.worker import PodWorker
from podling.kubelet.pods.worker_state import ORPHAN_GRACE_SECONDS
from podling.kubelet.rounds import Rounds
from podling.runtime.changes import Changes
from podling.runtime.failures import RuntimeFailure
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

TOLERANCE_SECONDS = 0.1
"""The time by which a round may precede the relist that it is for: rounds begin at common moments."""


def orphan_pod(observed: PodObservation) -> Pod:
    """Return as much of a pod as the runtime knows."""
    sandbox = observed.sandboxes[0]
    return Pod(
        metadata=ObjectMeta(name=sandbox.pod_name, namespace=sandbox.pod_namespace, uid=observed.pod_uid)
    )


class Housekeeper:
    """Periodic clean-up of one node.

    Args:
        sources_ready: returns whether the API's pods are known.
        changes: notes that a worker has come or gone.
    """

    def __init__(
        self,
        services: PodServices,
        workers: Mapping[str, PodWorker],
        sources_ready: Callable[[], bool],
        changes: Changes,
    ) -> None:
        self._services = services
        self._workers = workers
        self._sources_ready = sources_ready
        self._orphans: frozenset[str] = frozenset()
        """The pods that only the runtime had in the last round."""
        self._ending: set[str] = set()
        self._relist_at = 0.0
        interval = services.deps.config.housekeeping_interval
        relist = services.deps.config.relist_interval
        self._rounds = Rounds(interval, services.deps, changes, quiet_period=max(interval, relist))

    async def run(self) -> None:
        """Clean up and relist until cancelled."""
        self._relist_at = clock.monotonic()
        settled = False
        async with Supervisor() as supervisor:
            with self._rounds.follow():
                while True:
                    await self._rounds.next(settled=settled)
                    try:
                        settled = await self._clean_up(supervisor)
                    except (RuntimeFailure, OSError) as error:
                        logger.warning("housekeeping: %s", error)
                        settled = False

    async def _clean_up(self, supervisor: Supervisor) -> bool:
        """Make one round; return whether it looked at everything and found nothing that is still to end."""
        relist = clock.monotonic() >= self._relist_at - TOLERANCE_SECONDS
        if relist:
            self._relist_at = clock.monotonic() + self._services.deps.config.relist_interval
            known = await self._wake_changed()
        else:
            known = await self._services.observer.pod_uids()
        if not self._sources_ready():
            return False
        self._end_orphans(supervisor, known)
        removed_all = await self._remove_directories(known)
        return relist and removed_all and not self._ending

    async def _wake_changed(self) -> frozenset[str]:
        """Wake the workers whose pods differ from their observations; return the pods in the runtime."""
        sequence, seen = await self._services.observer.fingerprints()
        for uid, worker in self._workers.items():
            observed = worker.record.observed
            if sequence > observed.sequence and seen.get(uid, frozenset()) != observed.fingerprint():
                worker.wake()
        return frozenset(seen)

    def _end_orphans(self, supervisor: Supervisor, known: frozenset[str]) -> None:
        orphans = known - self._workers.keys()
        self._services.metrics.orphans += len(orphans - self._orphans)
        self._orphans = orphans
        for uid in sorted(orphans - self._ending):
            self._ending.add(uid)
            supervisor.run_once("kubelet/orphan", partial(self._end, uid), uid)

    async def _end(self, uid: str) -> None:
        """Kill and remove a pod that only the runtime has."""
        runtime = self._services.deps.runtime
        try:
            observed = await self._services.observer.observe(uid)
            if not observed.sandboxes:
                return
            pod = orphan_pod(observed)
            await self._services.killer.kill_pod(pod, observed, ORPHAN_GRACE_SECONDS)
            for sandbox in observed.sandboxes:
                await runtime.remove_sandbox(sandbox.id)
            await self._services.volumes.tear_down(uid)
            self._services.users.release(uid)
        except (RuntimeFailure, OSError) as error:
            logger.warning("orphaned pod %s could not be removed: %s", uid, error)
        finally:
            self._ending.discard(uid)

    async def _remove_directories(self, known: frozenset[str]) -> bool:
        """Remove the directories and logs of pods that neither API nor runtime have; return if all went."""
        if not self._services.deps.config.write_files:
            return True
        removed_all = True
        for uid in self._services.directories.pod_uids():
            if uid in self._workers or uid in known:
                continue
            try:
                await self._services.volumes.tear_down(uid)
                self._services.users.release(uid)
                await blocking_for_pod(uid, self._services.directories.remove_logs, uid)
            except OSError as error:
                logger.warning("the directory of pod %s could not be removed: %s", uid, error)
                removed_all = False
        return removed_all
