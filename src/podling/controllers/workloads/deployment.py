"""Rolling a deployment's pods from one template to the next, through replica sets.

Flow of one run: claim the replica sets that match; find the one with the present template (the *new*
one) and make it if need be; then move sizes by one step, either sharing out a changed ``replicas`` or
rolling (or recreating) from old to new; write the status. Each step is small and leaves the rest to the
next run, which the change of a replica set's status brings about.

The arithmetic is in ``deployment_rules``, the status in ``deployment_status``. Upstream:
``pkg/controller/deployment``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import structs

from podling import clock
from podling.api.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetSpec
from podling.api.core_v1 import Pod
from podling.api.meta_v1 import LabelSelector as Selector
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import REST_OF_WORKLOADS_SECONDS, Controller, ControllerContext
from podling.controllers.children import BY_NAMESPACE, Children, child_selector, namespace_index
from podling.controllers.owner_references import controller_reference, is_controlled_by
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.status_writes import write_status
from podling.controllers.template_hash import template_hash
from podling.controllers.workloads import deployment_rules as rules
from podling.controllers.workloads import deployment_status as progress
from podling.controllers.workloads.deployment_rollback_rules import rollback_target, rolled_back
from podling.controllers.workloads.deployment_rules import HASH_LABEL, REVISION, Scale, size
from podling.machinery.errors import ApiError, is_already_exists, unless_gone


class DeploymentController(Controller):
    name: ClassVar[str] = "deployment-controller"
    workers: ClassVar[int] = 5
    rest_seconds: ClassVar[float] = REST_OF_WORKLOADS_SECONDS

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._deployments = context.informers.informer(Deployment)
        self._sets = context.informers.informer(ReplicaSet)
        self._pods = context.informers.informer(Pod)
        self._pods.add_indexer(BY_NAMESPACE, namespace_index)
        self._recorder = context.recorder("deployment-controller")
        self._deployments.add_handler(self.enqueue, self.enqueue_new, self.enqueue)
        self._children = Children(context.client, self._deployments, self._sets, self.queue, child_selector)
        self._pods.add_handler(on_delete=self._pod_gone)

    def _pod_gone(self, pod: Pod) -> None:
        """A recreating roll-out goes on when the last old pod is gone."""
        for deployment in self._deployments.by_index(BY_NAMESPACE, pod.metadata.namespace or ""):
            selector = child_selector(deployment)
            if not rules.is_rolling(deployment) and selector and selector.matches(pod.metadata.labels):
                self.enqueue(deployment)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        deployment = self._deployments.get(key)
        if deployment is None or child_selector(deployment) is None or not self._children.settled(key):
            return AwaitChange()
        sets = await self._children.claim(deployment)
        if deployment.metadata.deletion_timestamp is not None:
            new = rules.find_new(deployment, sets)
            await self._write(deployment, progress.counted(deployment, new, sets, clock.now()))
            return AwaitChange()
        pause = progress.pause_condition(deployment)
        if pause is not None:
            deployment = await self._add_condition(deployment, pause)
        if deployment.spec.paused:
            return await self._resize(deployment, sets)
        wanted = rollback_target(deployment)
        if wanted is not None:
            return await self._roll_back(deployment, sets, wanted)
        if rules.is_scaling(deployment, sets):
            return await self._resize(deployment, sets)
        if rules.is_rolling(deployment):
            return await self._roll(deployment, sets)
        return await self._recreate(deployment, sets)

    # The ways forward

    async def _roll_back(self, deployment: Deployment, sets: list[ReplicaSet], wanted: int) -> AwaitChange:
        """Take the template of an earlier revision. The annotation that requests it goes in any case."""
        deployment, new, old = await self._revise(deployment, sets)
        if new is None:
            deployment, new = await self._create_new(deployment, old)
        found = rolled_back(deployment, _all(new, old), wanted)
        await self.client.update(found.deployment)
        self._recorder.event(deployment, found.type, found.reason, found.message)
        return AwaitChange()

    async def _resize(self, deployment: Deployment, sets: list[ReplicaSet]) -> AwaitChange:
        """The wanted number changed, or the deployment is paused: no roll-out, only sizes."""
        deployment, new, old = await self._revise(deployment, sets)
        changes = rules.resize(deployment, new, old)
        everyone = await self._scale(deployment, changes, _all(new, old))
        if deployment.spec.paused and rollback_target(deployment) is None:
            await self._forget_history(deployment, old)
        new = self._as_now(new, everyone)
        await self._write(deployment, progress.counted(deployment, new, everyone, clock.now()))
        return AwaitChange()

    async def _roll(self, deployment: Deployment, sets: list[ReplicaSet]) -> RequeueAfter | AwaitChange:
        deployment, new, old = await self._revise(deployment, sets)
        if new is None:
            deployment, new = await self._create_new(deployment, old)
            if new is None:
                return AwaitChange()
        changes = rules.grow_new(deployment, new, old) or rules.shrink_old(deployment, new, old)
        return await self._conclude(deployment, changes, new, old)

    async def _recreate(self, deployment: Deployment, sets: list[ReplicaSet]) -> RequeueAfter | AwaitChange:
        deployment, new, old = await self._revise(deployment, sets)
        changes = rules.scale_to(rules.active(old), 0)
        if changes or rules.old_pods_run(new, old, self._pods_of(deployment, _all(new, old))):
            everyone = await self._scale(deployment, changes, _all(new, old))
            return await self._report(deployment, new, everyone)
        if new is None:
            deployment, new = await self._create_new(deployment, old)
            if new is None:
                return AwaitChange()
        return await self._conclude(deployment, rules.scale_to([new], rules.wanted(deployment)), new, old)

    async def _conclude(
        self, deployment: Deployment, changes: list[Scale], new: ReplicaSet | None, old: list[ReplicaSet]
    ) -> RequeueAfter | AwaitChange:
        """Carry out the step, tidy up once nothing is left to do, and write the status."""
        everyone = await self._scale(deployment, changes, _all(new, old))
        if not changes and progress.is_complete(deployment, deployment.status):
            await self._forget_history(deployment, old)
        return await self._report(deployment, new, everyone)

    async def _report(
        self, deployment: Deployment, new: ReplicaSet | None, everyone: list[ReplicaSet]
    ) -> RequeueAfter | AwaitChange:
        """Write the status, and come back when the deadline of the roll-out has passed."""
        now = clock.now()
        status = progress.rollout_status(deployment, self._as_now(new, everyone), everyone, now)
        await self._write(deployment, status)
        wait = progress.seconds_to_deadline(deployment, status, now)
        return RequeueAfter(wait) if wait is not None else AwaitChange()

    def _pods_of(self, deployment: Deployment, sets: Sequence[ReplicaSet]) -> list[Pod]:
        """Return the pods that the deployment's replica sets still have."""
        pods = self._pods.by_index(BY_NAMESPACE, deployment.metadata.namespace or "")
        return [pod for pod in pods if any(is_controlled_by(pod, each) for each in sets)]

    @staticmethod
    def _as_now(new: ReplicaSet | None, everyone: list[ReplicaSet]) -> ReplicaSet | None:
        return next((each for each in everyone if new and each.metadata.uid == new.metadata.uid), None)

    # Replica sets

    async def _revise(
        self, deployment: Deployment, sets: list[ReplicaSet]
    ) -> tuple[Deployment, ReplicaSet | None, list[ReplicaSet]]:
        """Separate the new replica set from the old, and update its annotations and revision."""
        new = rules.find_new(deployment, sets)
        old = [each for each in sets if each is not new]
        if new is None:
            return deployment, None, old
        revision = max(map(rules.revision, old), default=0) + 1
        annotations = rules.revised_annotations(deployment, new.metadata.annotations, revision)
        if annotations != new.metadata.annotations or _differs(
            new.spec.min_ready_seconds, deployment.spec.min_ready_seconds
        ):
            new = structs.replace(
                new,
                metadata=structs.replace(new.metadata, annotations=annotations),
                spec=structs.replace(new.spec, min_ready_seconds=deployment.spec.min_ready_seconds),
            )
            new = await self.client.update(new)
            self._children.wrote(key_of(deployment), new)
        found = None
        if progress.has_deadline(deployment) and not _says_progress(deployment):
            text = f'Found new replica set "{new.metadata.name}"'
            found = progress.progressing("True", progress.FOUND, text)
        number = new.metadata.annotations.get(REVISION, "")
        return await self._note_revision(deployment, number, found), new, old

    async def _create_new(
        self, deployment: Deployment, old: list[ReplicaSet]
    ) -> tuple[Deployment, ReplicaSet | None]:
        """Make the replica set of the present template; None if its name is taken by another."""
        revision = max(map(rules.revision, old), default=0) + 1
        wanted = _new_replica_set(deployment, old, revision)
        try:
            new = await self.client.create(wanted)
        except ApiError as error:
            if is_already_exists(error):
                return await self._collided(deployment, wanted)
            if not is_namespace_terminating(error):
                text = f'Failed to create new replica set "{wanted.metadata.name}": {error}'
                await self._tell_failure(deployment, text)
            raise
        self._children.wrote(key_of(deployment), new)
        if size(new) > 0:
            text = f"Scaled up replica set {new.metadata.name} from 0 to {size(new)}"
            self._recorder.event(deployment, "Normal", "ScalingReplicaSet", text)
        created = None
        if progress.has_deadline(deployment):
            text = f'Created new replica set "{new.metadata.name}"'
            created = progress.progressing("True", progress.CREATED, text)
        return await self._note_revision(deployment, str(revision), created), new

    async def _collided(
        self, deployment: Deployment, wanted: ReplicaSet
    ) -> tuple[Deployment, ReplicaSet | None]:
        """The name is taken: by our own (our view was old), or by another, then a new name is drawn."""
        held = await self.client.get(ReplicaSet, wanted.metadata.name or "", wanted.metadata.namespace)
        if is_controlled_by(held, deployment) and rules.same_template(
            held.spec.template, deployment.spec.template
        ):
            return deployment, held
        count = (deployment.status.collision_count or 0) + 1
        await self._write(deployment, structs.replace(deployment.status, collision_count=count))
        return deployment, None

    async def _tell_failure(self, deployment: Deployment, text: str) -> None:
        self._recorder.event(deployment, "Warning", progress.CREATE_FAILED, text)
        if progress.has_deadline(deployment):
            await self._add_condition(deployment, progress.progressing("False", progress.CREATE_FAILED, text))

    async def _scale(
        self, deployment: Deployment, changes: list[Scale], everyone: list[ReplicaSet]
    ) -> list[ReplicaSet]:
        """Carry out ``changes``; returns ``everyone`` as it is then."""
        for change in changes:
            before = change.replica_set
            annotations = {**before.metadata.annotations, **rules.size_annotations(deployment)}
            if change.replicas == size(before) and annotations == before.metadata.annotations:
                continue
            after = structs.replace(
                before,
                metadata=structs.replace(before.metadata, annotations=annotations),
                spec=structs.replace(before.spec, replicas=change.replicas),
            )
            after = await self.client.update(after)
            self._children.wrote(key_of(deployment), after)
            everyone = [after if each is before else each for each in everyone]
            if change.replicas != size(before):
                way = "up" if change.replicas > size(before) else "down"
                name, was = before.metadata.name, size(before)
                text = f"Scaled {way} replica set {name} from {was} to {change.replicas}"
                self._recorder.event(deployment, "Normal", "ScalingReplicaSet", text)
        return everyone

    async def _forget_history(self, deployment: Deployment, old: list[ReplicaSet]) -> None:
        for each in rules.surplus_history(deployment, old):
            with unless_gone():
                await self.client.delete(
                    ReplicaSet, each.metadata.name or "", each.metadata.namespace, uid=each.metadata.uid or ""
                )
            self._children.deleted(key_of(deployment), each)

    # The deployment itself

    async def _note_revision(
        self, deployment: Deployment, revision: str, condition: DeploymentCondition | None
    ) -> Deployment:
        """Write the revision into the deployment's annotation, and a condition, if either is new."""
        metadata, status = deployment.metadata, deployment.status
        if metadata.annotations.get(REVISION) != revision:
            annotations = {**metadata.annotations, REVISION: revision}
            metadata = structs.replace(metadata, annotations=annotations)
        if condition is not None:
            conditions = progress.with_deployment_condition(status.conditions, condition, clock.now())
            status = structs.replace(status, conditions=conditions)
        changed = structs.replace(deployment, metadata=metadata, status=status)
        if changed == deployment:
            return deployment
        return await write_status(self.client, changed)

    async def _add_condition(self, deployment: Deployment, condition: DeploymentCondition) -> Deployment:
        conditions = progress.with_deployment_condition(deployment.status.conditions, condition, clock.now())
        return await self._write(deployment, structs.replace(deployment.status, conditions=conditions))

    async def _write(self, deployment: Deployment, status: DeploymentStatus) -> Deployment:
        if status == deployment.status:
            return deployment
        return await write_status(self.client, structs.replace(deployment, status=status))


def _new_replica_set(deployment: Deployment, old: list[ReplicaSet], revision: int) -> ReplicaSet:
    """Return the replica set of the deployment's present template, at the size it may begin with."""
    template, selector = deployment.spec.template, deployment.spec.selector
    digest = template_hash(template, deployment.status.collision_count)
    labels = {**template.metadata.labels, HASH_LABEL: digest}
    annotations = rules.revised_annotations(deployment, {}, revision)
    return ReplicaSet(
        metadata=ObjectMeta(
            name=rules.replica_set_name(deployment.metadata.name or "", digest),
            namespace=deployment.metadata.namespace,
            labels=labels,
            annotations={**annotations, **rules.size_annotations(deployment)},
            owner_references=(controller_reference(deployment),),
        ),
        spec=ReplicaSetSpec(
            replicas=rules.new_size(deployment, old, 0),
            min_ready_seconds=deployment.spec.min_ready_seconds,
            selector=Selector(
                match_labels={**selector.match_labels, HASH_LABEL: digest},
                match_expressions=selector.match_expressions,
            ),
            template=structs.replace(template, metadata=structs.replace(template.metadata, labels=labels)),
        ),
    )


def _all(new: ReplicaSet | None, old: list[ReplicaSet]) -> list[ReplicaSet]:
    return [*old, new] if new is not None else old


def _differs(one: int | None, other: int | None) -> bool:
    return (one or 0) != (other or 0)


def _says_progress(deployment: Deployment) -> bool:
    return any(each.type == progress.PROGRESSING for each in deployment.status.conditions)
