"""Revisions as they are written, adopted and found again.

Cases of controller_history_test.go, of ``TestStatefulSetControl_getSetRevisions`` in
stateful_set_control_test.go and of ``TestAdoptOrphanRevisions`` in stateful_set_test.go.
"""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.apps_v1 import ControllerRevision, StatefulSet
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.informer_factory import InformerFactory
from podling.client.workqueue import WorkQueue
from podling.controllers.children import Children, child_selector
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.revisions import (
    HASH,
    RevisionKeeper,
    TemplateRevision,
    by_number,
    new_revision,
    template_data,
)
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.workloads import stateful_set, template


class History:
    """The revisions of one set, written without a controller."""

    def __init__(self, cluster: ControlPlane, owner: StatefulSet) -> None:
        informers = InformerFactory(cluster.client)
        sets, revisions = informers.informer(StatefulSet), informers.informer(ControllerRevision)
        children = Children(cluster.client, sets, revisions, WorkQueue(), child_selector)
        self._cluster, self._owner = cluster, owner
        self._keeper = RevisionKeeper(cluster.client, children, HASH)

    async def stored(self) -> list[ControllerRevision]:
        return by_number((await self._cluster.client.list(ControllerRevision, "default")).items)

    async def ensure(
        self, image: str, known: list[ControllerRevision] | None = None, collisions: int = 0
    ) -> TemplateRevision:
        """Ensure a template's revision; the keeper knows what is stored, or what is given."""
        seen = await self.stored() if known is None else known
        return await self._keeper.ensure(self._owner, template(image, app="db"), seen, collisions)


@pytest.fixture
async def owner(cluster: ControlPlane) -> StatefulSet:
    return await cluster.client.create(stateful_set())


# the images that the set had, the present one, the number of its revision, and those of all
ROUNDS: list[tuple[list[str], str, int, list[int]]] = [
    ([], "a", 1, [1]),
    (["a"], "b", 2, [1, 2]),
    (["a", "b"], "b", 2, [1, 2]),
    (["a", "b", "c"], "b", 4, [1, 3, 4]),
    (["a", "b", "c"], "a", 4, [2, 3, 4]),
]


@pytest.mark.parametrize(("images", "present", "newest", "numbers"), ROUNDS)
async def test_earlier_revision_is_used_again_as_the_newest(
    cluster: ControlPlane,
    owner: StatefulSet,
    images: list[str],
    present: str,
    newest: int,
    numbers: list[int],
) -> None:
    history = History(cluster, owner)
    for image in images:
        await history.ensure(image)
    found = await history.ensure(present)
    assert (found.revision.revision, found.collisions, list(found.doubles)) == (newest, 0, [])
    assert found.revision.data == template_data(template(present, app="db"))
    assert [each.revision for each in await history.stored()] == numbers


async def test_older_revisions_with_the_same_template_are_named(
    cluster: ControlPlane, owner: StatefulSet
) -> None:
    history = History(cluster, owner)
    first = (await history.ensure("a")).revision
    await history.ensure("b")
    metadata = ObjectMeta(name="db-again", namespace="default", labels=first.metadata.labels)
    again = await cluster.client.create(ControllerRevision(metadata=metadata, data=first.data, revision=7))
    found = await history.ensure("a")
    assert found == (again, 0, [first])


async def test_taken_name_of_another_template_is_avoided_once(
    cluster: ControlPlane, owner: StatefulSet
) -> None:
    history = History(cluster, owner)
    named = new_revision(owner, template("a", app="db"), HASH, 1, 0)
    other = structs.replace(named, data=template_data(template("b", app="db")))
    await cluster.client.create(other)
    found = await history.ensure("a")
    assert (found.revision.revision, found.collisions) == (2, 1)
    assert found.revision.metadata.name != named.metadata.name
    again = await history.ensure("a", known=[other])  # its own write is not seen yet
    assert again == (found.revision, 1, ())


@pytest.mark.parametrize(("owned", "collisions"), [(True, 0), (False, 1)])
async def test_unseen_revision_with_the_same_template_is_used_if_it_is_owned(
    cluster: ControlPlane, owner: StatefulSet, owned: bool, collisions: int
) -> None:
    history = History(cluster, owner)
    made = new_revision(owner, template("a", app="db"), HASH, 1, 0)
    references = made.metadata.owner_references if owned else ()
    metadata = structs.replace(made.metadata, owner_references=references)
    held = await cluster.client.create(structs.replace(made, metadata=metadata))
    found = await history.ensure("a", known=[])
    assert found.collisions == collisions
    assert (found.revision == held) is owned


async def test_revisions_with_the_labels_of_the_set_and_no_owner_are_adopted(cluster: ControlPlane) -> None:
    owner = await cluster.client.create(stateful_set(1))
    other = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="x", uid="x", controller=True)
    for name, labels, owners in (
        ("orphan", {"app": "db"}, ()),
        ("unlabelled", {"app": "web"}, ()),
        ("foreign", {"app": "db"}, (other,)),
        ("released", {"app": "web"}, (controller_reference(owner),)),
    ):
        metadata = ObjectMeta(name=name, namespace="default", labels=labels, owner_references=owners)
        data = template_data(template(name, app="db"))
        await cluster.client.create(ControllerRevision(metadata=metadata, data=data, revision=1))
    async with running(cluster.client, StatefulSetController):
        await cluster.advance(seconds=1)
    found = (await cluster.client.list(ControllerRevision, "default")).items
    uids = {each.metadata.name: [ref.uid for ref in each.metadata.owner_references] for each in found}
    uid = owner.metadata.uid
    wanted = {"orphan": [uid], "unlabelled": [], "foreign": ["x"], "released": []}
    assert {name: uids.pop(name) for name in wanted} == wanted
    assert list(uids.values()) == [[uid]], "the present template has a revision of its own"
