"""The history of a pod template: the earlier forms of stateful sets and daemon sets.

Each template that a set ever had is kept in a ControllerRevision, numbered upwards; going back to an old
one gives that revision the highest number again. Upstream: ``pkg/controller/history``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod, PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import ApiObject, Client, Key, key_of
from podling.controllers.children import Children
from podling.controllers.owner_references import controller_reference, is_controlled_by
from podling.controllers.template_hash import template_hash
from podling.machinery.encoding import codec, plain
from podling.machinery.errors import ApiError, is_already_exists, unless_gone

HASH = "controller.kubernetes.io/hash"
"""The label of a stateful set's revisions that holds their hash."""

REVISION_LABEL = "controller-revision-hash"
"""The label of pods that names their revision; on a daemon set's revisions it holds their hash."""
NAME_LENGTH_MAX = 223
NEVER = datetime.min.replace(tzinfo=UTC)


def template_data(template: PodTemplateSpec) -> dict[str, Any]:
    """Return a template as a revision keeps it: a patch that puts it in place of another."""
    return {"spec": {"template": {**codec.to_plain(template), "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    kept = dict(revision.data["spec"]["template"])
    kept.pop("$patch", None)
    return codec.convert(kept, PodTemplateSpec, "Ignore")[0]


def by_number(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """Return the oldest revision first. Equal numbers are ordered by the time of creation, then by name.

    Source: ``byRevision``.
    """
    return sorted(revisions, key=_order)


def _order(revision: ControllerRevision) -> tuple[int, datetime, str]:
    metadata = revision.metadata
    return revision.revision, metadata.creation_timestamp or NEVER, metadata.name or ""


def new_revision(
    owner: ApiObject, template: PodTemplateSpec, hash_label: str, number: int, collisions: int
) -> ControllerRevision:
    """Return a revision of the owner's template.

    It carries the annotations of its owner, among which ``kubectl rollout history`` finds the change cause.
    """
    digest = template_hash(template, collisions or None)
    return ControllerRevision(
        metadata=ObjectMeta(
            name=f"{(owner.metadata.name or '')[:NAME_LENGTH_MAX]}-{digest}",
            namespace=owner.metadata.namespace,
            labels={**template.metadata.labels, hash_label: digest},
            annotations=owner.metadata.annotations,
            owner_references=(controller_reference(owner),),
        ),
        data=template_data(template),
        revision=number,
    )


def equal(one: ControllerRevision, other: ControllerRevision) -> bool:
    """Return whether two revisions hold the same.

    Zeros and nulls that only one of them spells out do not count: another release may have written it.
    """
    if plain.equal(one.data, other.data):
        return True
    said = [_template_said(each) for each in (one, other)]
    return said[0] is not None and said[0] == said[1]


def _template_said(revision: ControllerRevision) -> PodTemplateSpec | None:
    """Return the template of a revision that holds nothing else; None for any other."""
    if not isinstance(revision.data, dict) or revision.data.keys() != {"spec"}:
        return None
    spec = revision.data["spec"]
    if not isinstance(spec, dict) or spec.keys() != {"template"} or not isinstance(spec["template"], dict):
        return None
    try:
        return template_of(revision)
    except ApiError:
        return None


def surplus(
    revisions: Sequence[ControllerRevision], live: Iterable[str], limit: int | None
) -> list[ControllerRevision]:
    """Return the revisions beyond the history that is kept; those in use (``live``, by name) do not count.

    A negative ``limit`` keeps all of them.
    """
    most, in_use = 10 if limit is None else limit, set(live)
    history = [each for each in by_number(revisions) if each.metadata.name not in in_use]
    return history[: max(0, len(history) - most)] if most >= 0 else []


class TemplateRevision(NamedTuple):
    """The revision that holds an owner's template, the owner's collision count, and older revisions with the
    same template."""

    revision: ControllerRevision
    collisions: int
    doubles: Sequence[ControllerRevision] = ()


class RevisionKeeper:
    """Writes the revisions of one kind of owner. ``children`` finds and adopts them.

    Args:
        hash_label: the label that holds the hash of each.
    """

    def __init__(self, client: Client, children: Children[Any, ControllerRevision], hash_label: str) -> None:
        self._client = client
        self._children = children
        self._hash_label = hash_label

    async def ensure(
        self,
        owner: ApiObject,
        template: PodTemplateSpec,
        revisions: list[ControllerRevision],
        collisions: int,
    ) -> TemplateRevision:
        """Write the revision that holds ``template``, as the newest one, unless it is there."""
        number = max((each.revision for each in revisions), default=0) + 1
        wanted = new_revision(owner, template, self._hash_label, number, collisions)
        history = by_number(revisions)
        same = [each for each in history if equal(each, wanted)]
        if not same:
            return await self._create(owner, template, wanted, collisions)
        *doubles, last = same
        changed = self._with_hash(last if last is history[-1] else structs.replace(last, revision=number))
        if changed is not last:
            changed = await self._client.update(changed)
            self._children.wrote(key_of(owner), changed)
        return TemplateRevision(changed, collisions, doubles)

    def _with_hash(self, revision: ControllerRevision) -> ControllerRevision:
        """Add the label with the hash if it was removed, or an earlier release wrote another."""
        metadata = revision.metadata
        if self._hash_label in metadata.labels:
            return revision
        digest = metadata.labels.get(HASH) or metadata.name or ""
        labelled = structs.replace(metadata, labels={**metadata.labels, self._hash_label: digest})
        return structs.replace(revision, metadata=labelled)

    async def _create(
        self,
        owner: ApiObject,
        template: PodTemplateSpec,
        wanted: ControllerRevision,
        collisions: int,
    ) -> TemplateRevision:
        """Create ``wanted``, under another name where its own is taken by another template."""
        while True:
            try:
                created = await self._client.create(wanted)
            except ApiError as error:
                if not is_already_exists(error):
                    raise
            else:
                self._children.wrote(key_of(owner), created)
                return TemplateRevision(created, collisions)
            metadata = wanted.metadata
            held = await self._client.get(ControllerRevision, metadata.name or "", metadata.namespace)
            if equal(held, wanted) and is_controlled_by(held, owner):
                return TemplateRevision(held, collisions)
            collisions += 1
            wanted = new_revision(owner, template, self._hash_label, wanted.revision, collisions)

    async def merge(
        self, owner: Key, ensured: TemplateRevision, pods: Iterable[Pod], children: Children[Any, Pod]
    ) -> bool:
        """Delete the older revisions with the same template; return whether there were any.

        Their pods get the label of the newest one before. Source: ``dedupCurHistories`` of daemon sets, which
        labels the pods of all other revisions as well.
        """
        doubles = [each for each in ensured.doubles if not each.metadata.deletion_timestamp]
        digest = ensured.revision.metadata.labels.get(REVISION_LABEL)
        theirs = {each.metadata.labels.get(REVISION_LABEL) for each in doubles} - {digest}
        for metadata in [pod.metadata for pod in pods]:
            if metadata.labels.get(REVISION_LABEL) in theirs:
                patch = {"metadata": {"uid": metadata.uid, "labels": {REVISION_LABEL: digest}}}
                with unless_gone():
                    written = await self._client.patch(Pod, metadata.name or "", patch, metadata.namespace)
                    children.wrote(owner, written)
        await self.forget(owner, doubles)
        return bool(doubles)

    async def forget(self, owner: Key, doomed: Iterable[ControllerRevision]) -> None:
        for each in doomed:
            metadata = each.metadata
            with unless_gone():
                await self._client.delete(
                    ControllerRevision, metadata.name or "", metadata.namespace, uid=metadata.uid or ""
                )
            self._children.deleted(owner, each)
