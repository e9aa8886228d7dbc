"""The history of a pod template: what stateful sets and daemon sets were, and can be again.

Each template that a set ever had is kept in a ControllerRevision, numbered upwards; going back to an old
one gives that revision the highest number again. Upstream: ``pkg/controller/history``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject, Client, Key, key_of
from podling.controllers.children import Children
from podling.controllers.deployment_rules import template_hash
from podling.controllers.ownership import controller_reference, is_controlled_by
from podling.machinery import codec, plain
from podling.machinery.errors import ApiError, is_already_exists, unless_gone

HASH = "controller.kubernetes.io/hash"
REVISION_LABEL = "controller-revision-hash"
NAME_LENGTH_MAX = 223


def template_data(template: PodTemplateSpec) -> dict[str, Any]:
    """A template as a revision keeps it: a patch that puts it in place of another."""
    return {"spec": {"template": {**codec.to_plain(template), "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    kept = dict(revision.data["spec"]["template"])
    kept.pop("$patch", None)
    return codec.from_plain(kept, PodTemplateSpec)


def by_number(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    return sorted(revisions, key=lambda each: (each.revision, each.metadata.name or ""))


def new_revision(
    owner: ApiObject, template: PodTemplateSpec, labels: dict[str, str], number: int, collisions: int
) -> ControllerRevision:
    """A revision of the owner's template; ``labels`` are those its children carry."""
    digest = template_hash(template, collisions or None)
    return ControllerRevision(
        metadata=ObjectMeta(
            name=f"{(owner.metadata.name or '')[:NAME_LENGTH_MAX]}-{digest}",
            namespace=owner.metadata.namespace,
            labels={**labels, HASH: digest},
            owner_references=(controller_reference(owner),),
        ),
        data=template_data(template),
        revision=number,
    )


def equal(one: ControllerRevision, other: ControllerRevision) -> bool:
    return plain.equal(one.data, other.data)


def surplus(
    revisions: Sequence[ControllerRevision], live: Iterable[str], limit: int | None
) -> list[ControllerRevision]:
    """The revisions beyond the history that is kept; those in use (``live``, by name) do not count."""
    in_use = set(live)
    history = [each for each in by_number(revisions) if each.metadata.name not in in_use]
    return history[: max(0, len(history) - (10 if limit is None else limit))]


class RevisionKeeper:
    """Writes the revisions of one kind of owner. ``children`` finds and adopts them."""

    def __init__(self, client: Client, children: Children[Any, ControllerRevision]) -> None:
        self._client = client
        self._children = children

    async def ensure(
        self,
        owner: ApiObject,
        template: PodTemplateSpec,
        labels: dict[str, str],
        revisions: list[ControllerRevision],
        collisions: int,
    ) -> tuple[ControllerRevision, int]:
        """The revision that holds ``template``, as the newest; and the owner's new collision count."""
        number = max((each.revision for each in revisions), default=0) + 1
        wanted = new_revision(owner, template, labels, number, collisions)
        same = [each for each in by_number(revisions) if equal(each, wanted)]
        if not same:
            return await self._create(owner, template, labels, wanted, collisions)
        newest, last = by_number(revisions)[-1], same[-1]
        if equal(newest, last):
            return last, collisions
        raised = await self._client.update(structs.replace(last, revision=number))
        self._children.wrote(key_of(owner), raised)
        return raised, collisions

    async def _create(
        self,
        owner: ApiObject,
        template: PodTemplateSpec,
        labels: dict[str, str],
        wanted: ControllerRevision,
        collisions: int,
    ) -> tuple[ControllerRevision, int]:
        """Create ``wanted``, under another name where its own is taken by another template."""
        while True:
            try:
                created = await self._client.create(wanted)
            except ApiError as error:
                if not is_already_exists(error):
                    raise
            else:
                self._children.wrote(key_of(owner), created)
                return created, collisions
            metadata = wanted.metadata
            held = await self._client.get(ControllerRevision, metadata.name or "", metadata.namespace)
            if equal(held, wanted) and is_controlled_by(held, owner):
                return held, collisions
            collisions += 1
            wanted = new_revision(owner, template, labels, wanted.revision, collisions)

    async def forget(self, owner: Key, doomed: Iterable[ControllerRevision]) -> None:
        for each in doomed:
            metadata = each.metadata
            with unless_gone():
                await self._client.delete(
                    ControllerRevision, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
                )
            self._children.deleted(owner, each)
