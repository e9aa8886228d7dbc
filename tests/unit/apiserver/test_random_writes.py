"""Random writes by several managers through every subresource, compared with a plain model.

A write through a subresource changes that part alone; a dry run answers the same and changes nothing;
revisions and generations rise exactly when something changes; and the managed fields record each owner and
its time.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.json import decode

from podling import clock
from podling.api.autoscaling_v1 import Scale, ScaleSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Patch, Target, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.encoding.plain import copied
from podling.machinery.errors import ApiError
from podling.machinery.patches import fieldsets
from podling.sim.loop import run
from podling.testing import ControlPlane, memory_cluster
from tests.support.custom_resources import definition
from tests.support.sequences import sequences
from tests.support.written_model import FIELDS, LEAVES, Leaf, Model, Values, Write

KEPT = "kept"
"""A field that only the creator sets, so the object always has managed fields."""
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "mode": {"type": "string"},
                KEPT: {"type": "boolean"},
            },
        },
        "status": {
            "type": "object",
            "properties": {"ready": {"type": "string"}, "note": {"type": "string"}},
        },
    },
}
SUBRESOURCES = {
    "status": {},
    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count"},
}

values = st.fixed_dictionaries(
    {},
    optional={leaf: st.integers(1, 2) if leaf == "spec.size" else st.sampled_from("xy") for leaf in LEAVES},
)
writes = st.builds(
    Write,
    subresource=st.sampled_from(tuple(FIELDS)),
    verb=st.sampled_from(("apply", "force", "update", "merge", "json")),
    who=st.sampled_from(("p", "q")),
    values=values,
)
PROPERTY = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow],
)


def tree(said: Values, **more: Any) -> dict[str, Any]:
    """Return an object that says this."""
    root: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Widget", **more}
    for leaf, value in said.items():
        *steps, last = leaf.split(".")
        inner = root
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return root


def leaves_of(obj: Any) -> Values:
    plain, found = codec.to_plain(obj), Values()
    for leaf in LEAVES:
        inner: Any = plain
        for step in leaf.split("."):
            inner = (inner or {}).get(step)
        if inner is not None:
            found[leaf] = inner
    return found


def record_of(obj: Any) -> dict[str, tuple[set[Leaf], int | None]]:
    """Return the leaves and the second of each entry that has any."""
    found = {}
    for each in obj.metadata.managed_fields:
        name = " ".join(filter(None, (each.manager, each.operation, each.subresource)))
        texts = {
            fieldsets.text_of(path).removeprefix(".") for path in fieldsets.decode(decode(each.fields_v1))
        }
        if owned := texts.intersection(LEAVES):
            found[name] = (owned, round(each.time.timestamp()) if each.time else None)
    return found


class Object:
    """One custom object in a server of its own, beside its model."""

    def __init__(self, cluster: ControlPlane, kind: type[Any], target: Target) -> None:
        self._cluster, self._kind, self._target = cluster, kind, target
        self._model = Model()

    async def begin(self) -> None:
        body = self._object({}, spec={KEPT: True})
        where = Target(self._target.resource, "default")
        await self._cluster.backend.create(where, SYSTEM, body, WriteOptions(field_manager="maker"))

    async def perform(self, write: Write) -> None:
        await clock.sleep(1)
        old, revision = await self._live(), self._cluster.store.revision
        would = await self._answer(write, old, dry_run=True)
        assert self._cluster.store.revision == revision, "a dry run stores nothing"
        answer = await self._answer(write, old, dry_run=False)
        new, now = await self._live(), round(clock.now().timestamp())
        conflicts = self._model.perform(write, now)
        if conflicts:
            assert isinstance(answer, set)
            assert answer == {f".{leaf}" for _, leaf in conflicts}
        assert would == answer, "a dry run answers what the write answers"
        assert leaves_of(new) == self._model.values
        assert record_of(new) == self._model.record()
        self._check_metadata(old, new, revision)

    def _check_metadata(self, old: Any, new: Any, revision: int) -> None:
        assert new.metadata.uid == old.metadata.uid
        assert new.metadata.creation_timestamp == old.metadata.creation_timestamp
        assert new.metadata.generation == self._model.generation
        before, after = int(old.metadata.resource_version), int(new.metadata.resource_version)
        assert (after > before) == (unversioned(new) != unversioned(old)), "only what changes is stored"
        assert self._cluster.store.revision == (after if after > before else revision)

    async def _answer(self, write: Write, live: Any, *, dry_run: bool) -> Any:
        """Return the object that comes back, but for its revision; the conflicting fields of one refused."""
        target = through(self._target, write.subresource)
        options = WriteOptions(
            dry_run=dry_run,
            field_manager=write.who,
            apply=write.applies,
            force=write.verb == "force",
        )
        try:
            if write.verb == "update":
                body = self._body(write, live)
                found = await self._cluster.backend.update(target, SYSTEM, body, options)
            else:
                patch = self._patch(write, live)
                found = await self._cluster.backend.patch(target, SYSTEM, patch, options)
        except ApiError as error:
            if error.code != 409 or error.status.details is None:
                raise
            return {cause.field_ for cause in error.status.details.causes}
        return unversioned(found)

    def _body(self, write: Write, live: Any) -> Any:
        if write.subresource == "scale":
            revision = live.metadata.resource_version
            place = ObjectMeta(name="w", namespace="default", resource_version=revision)
            return Scale(metadata=place, spec=ScaleSpec(replicas=int(write.values["spec.size"])))
        # A put of the status repeats the labels: other managers would lose them otherwise.
        labels = leaves_of(live) if write.subresource == "status" else {}
        labels = {leaf: value for leaf, value in labels.items() if leaf.startswith("metadata.")}
        return self._object({**labels, **write.values}, live)

    def _object(self, said: Values, live: Any = None, **more: Any) -> Any:
        plain = tree(said, **more)
        plain.setdefault("metadata", {}).update(name="w", namespace="default")
        if live is not None:
            plain["metadata"]["resourceVersion"] = live.metadata.resource_version
        plain.setdefault("spec", {})[KEPT] = True
        return codec.convert(plain, self._kind, "Strict")[0]

    def _patch(self, write: Write, live: Any) -> Patch:
        if write.subresource == "scale":
            said = {"spec": {"replicas": write.values["spec.size"]}}
            if write.applies:
                return Patch(PatchType.APPLY, {"apiVersion": "autoscaling/v1", "kind": "Scale", **said})
            replace = [{"op": "replace", "path": "/spec/replicas", "value": write.values["spec.size"]}]
            if write.verb == "json":
                return Patch(PatchType.JSON, replace)
            return Patch(PatchType.MERGE, said)
        if write.applies:
            return Patch(PatchType.APPLY, tree(write.values))
        if write.verb == "merge":
            return Patch(PatchType.MERGE, tree(write.values))
        plain = codec.to_plain(live)
        wanted = copied(plain)
        for leaf, value in write.values.items():
            *steps, last = leaf.split(".")
            inner = wanted
            for step in steps:
                inner = inner.setdefault(step, {})
            inner[last] = value
        return Patch(PatchType.JSON, jsonpatch.make_patch(plain, wanted).patch)

    async def _live(self) -> Any:
        return await self._cluster.backend.get(self._target, SYSTEM)


def through(target: Target, subresource: str) -> Target:
    return Target(target.resource, target.namespace, target.name, subresource)


def unversioned(obj: Any) -> Any:
    return codec.to_plain(structs.replace(obj, metadata=structs.replace(obj.metadata, resource_version="")))


def sensible(write: Write) -> bool:
    """A scale always says how many. Who writes a status would own the labels that it says and cannot set."""
    labelled = any(leaf.startswith("metadata.") for leaf in write.values)
    if write.subresource == "status" and labelled:
        return False
    return write.subresource != "scale" or "spec.size" in write.values


@PROPERTY
@given(history=sequences(writes.filter(sensible), 16))
def test_every_write_agrees_with_the_model(history: list[Write]) -> None:
    async def live() -> None:
        async with memory_cluster(()) as cluster:
            made = definition(SCHEMA, version={"subresources": SUBRESOURCES})
            await cluster.client.create(made)
            await clock.sleep(1)
            served = cluster.server.catalogue.by_path("example.com", "v1", "widgets")
            assert served is not None
            obj = Object(cluster, served.type, Target(served, "default", "w"))
            await obj.begin()
            for write in history:
                await obj.perform(write)

    run(live())
