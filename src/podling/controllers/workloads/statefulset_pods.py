"""Creates, deletes and repairs the pods of a stateful set, with events about the set.

Upstream: ``stateful_pod_control.go`` in ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any, assert_never

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.client.base import Unreachable, key_of
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads import revisions as history
from podling.controllers.workloads import statefulset_rules as rules
from podling.controllers.workloads.pod_control import OwnedPods, slow_start
from podling.controllers.workloads.replacement_rate import ReplacementRate
from podling.controllers.workloads.statefulset_claim_rules import are_owners_right
from podling.controllers.workloads.statefulset_claims import ClaimsFailed, ensure_claims, update_owners
from podling.controllers.workloads.statefulset_plan import Create, Delete, Repair, Step, UpdateClaims
from podling.controllers.workloads.statefulset_rules import SetView, StatefulOwner
from podling.machinery.errors import ApiError, is_already_exists, is_conflict, is_not_found
from podling.machinery.pods import is_terminal


class SetPods(OwnedPods[StatefulOwner]):
    """Carries out plans."""

    @cached_property
    def replacements(self) -> ReplacementRate:
        """The rate for pods that ended: one for all sets of a controller."""
        return ReplacementRate()

    async def carry_out(self, view: SetView[Any], steps: Iterable[Step]) -> Exception | None:
        """Do what a plan says until something fails; returns the first failure."""
        for step in steps:
            failure = await slow_start(len(step), partial(self.act, view, step))
            if failure is not None:
                return failure
        return None

    async def act(self, view: SetView[Any], step: Step, number: int) -> None:
        """Do one action of a step. Raises what its requests raise, and ``ClaimsFailed``."""
        stateful, action = view.stateful, step[number]
        match action:
            case Create(ordinal=ordinal, revision=revision):
                await self._create(view, ordinal, revision)
            case Delete(pod=pod):
                if is_terminal(pod):
                    await self.replacements.wait()
                await self.delete(stateful, pod)
            case Repair(pod=pod, ordinal=ordinal):
                await self._repair(view, pod, ordinal)
            case UpdateClaims(pod=pod, ordinal=ordinal):
                if pod.status.phase == "Pending" and ordinal in view.wanted:
                    await ensure_claims(
                        self._client, self._recorder, stateful, pod.metadata.name or "", ordinal
                    )
                await update_owners(self._client, self._recorder, view, pod, ordinal)
            case _:
                assert_never(action)

    async def _create(self, view: SetView[Any], ordinal: int, revision: ControllerRevision) -> None:
        stateful = view.stateful
        template, name = history.template_of(revision), revision.metadata.name or ""
        pod = self._prepared(stateful, rules.member(stateful, template, name, ordinal))
        name = pod.metadata.name or ""
        what = f"create Pod {name} in StatefulSet {stateful.metadata.name}"
        try:
            await ensure_claims(self._client, self._recorder, stateful, name, ordinal)
            created = await self._client.create(pod)
        except (ApiError, Unreachable, ClaimsFailed) as error:
            if not is_namespace_terminating(error) and not is_already_exists(error):
                self._recorder.event(stateful, "Warning", "FailedCreate", f"{what} failed error: {error}")
            raise
        self._pods.wrote(key_of(stateful), created)
        if not are_owners_right(view, created, ordinal):
            await update_owners(self._client, self._recorder, view, created, ordinal)
        self._recorder.event(stateful, "Normal", "SuccessfulCreate", f"{what} successful")

    async def delete(self, stateful: StatefulOwner, pod: Pod) -> None:
        """Delete the pod with this UID. Raises what the request raises, unless the pod is gone."""
        name = pod.metadata.name or ""
        what = f"delete Pod {name} in StatefulSet {stateful.metadata.name}"
        try:
            await self._client.delete(Pod, name, pod.metadata.namespace, uid=pod.metadata.uid or "")
        except (ApiError, Unreachable) as error:
            if is_not_found(error):
                return
            self._recorder.event(stateful, "Warning", "FailedDelete", f"{what} failed error: {error}")
            raise
        self._pods.deleted(key_of(stateful), pod)
        self._recorder.event(stateful, "Normal", "SuccessfulDelete", f"{what} successful")

    async def _repair(self, view: SetView[Any], pod: Pod, ordinal: int) -> None:
        """Restore what belongs to the pod's ordinal.

        Volumes of a pod cannot change: for one that was adopted without its claims the event says so.
        """
        stateful, name = view.stateful, pod.metadata.name or ""
        what = f"update Pod {name} in StatefulSet {stateful.metadata.name}"
        try:
            if not rules.has_storage(stateful, pod, ordinal):
                await ensure_claims(self._client, self._recorder, stateful, name, ordinal)
            if not are_owners_right(view, pod, ordinal):
                await update_owners(self._client, self._recorder, view, pod, ordinal)
            changed = rules.repaired(stateful, pod, ordinal)
            if changed != pod:
                self._pods.wrote(key_of(stateful), await self._client.update(changed))
        except (ApiError, Unreachable, ClaimsFailed) as error:
            if not is_conflict(error):
                self._recorder.event(stateful, "Warning", "FailedUpdate", f"{what} failed error: {error}")
            raise
        self._recorder.event(stateful, "Normal", "SuccessfulUpdate", f"{what} successful")
