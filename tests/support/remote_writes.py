"""The same requests to two API servers: one computes writes itself, the other as a worker process would."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from podling import clock
from podling.apiserver.compute.frames import Perform
from podling.apiserver.compute.pool import Encode
from podling.apiserver.registry import write_surroundings
from podling.apiserver.registry.patching import check_named
from podling.apiserver.registry.remote_stages import RemoteStages
from podling.apiserver.registry.write_jobs import read_patch
from podling.client.base import PatchType
from podling.client.requests import Patch, RawBody, Target, User, WriteOptions
from podling.machinery.encoding import codec
from podling.machinery.encoding.status_json import status_json
from podling.machinery.errors import ApiError
from podling.sim.loop import run
from podling.testing import ControlPlane, memory_cluster

ADMIN = User("admin", ("system:masters",))


class OneProcess:
    """A pool that computes jobs at once, in this process, from and to the same bytes."""

    def __init__(self) -> None:
        self.jobs = 0
        self._notes: dict[str, None] = {}

    async def run(self, perform: Perform, encode: Encode, *, owner: str = "") -> bytes:
        self.jobs += 1
        return perform(encode(self._notes))


class CustomTarget(Struct, frozen=True):
    """A target of a custom resource, which each server makes for itself."""

    place: tuple[str, str, str]
    """Group, version, plural."""
    namespace: str
    name: str = ""
    subresource: str = ""


class Request(Struct, frozen=True):
    """A write over HTTP. ``verb``: create, update, or the name of a patch type."""

    verb: str
    target: Target | CustomTarget
    body: Any
    options: dict[str, Any] = {}
    content_type: str = "application/json"


class Outcome(Struct, frozen=True):
    """The answer to a request: bytes of the object or of the status, and warnings."""

    body: bytes
    warnings: tuple[str, ...]


def outcomes(requests: list[Request], *, remote: bool, before: list[Any] | None = None) -> list[Outcome]:
    """Return what a new API server answers. ``before``: objects that it has."""

    async def main() -> list[Outcome]:
        async with memory_cluster() as cluster:
            for each in before or ():
                await cluster.client.create(each)
            await clock.sleep(1)
            pool = OneProcess()
            if remote:
                cluster.backend.compute_in(RemoteStages(pool, cluster.server.catalogue.definition_of))
            found = []
            for each in requests:
                found.append(await _outcome(cluster, each, remote=remote))
                await clock.sleep(1)  # controllers write what they have to write about it
            assert bool(pool.jobs) == remote
            return found

    return run(main(), seed=1)


async def _outcome(cluster: ControlPlane, request: Request, *, remote: bool) -> Outcome:
    options = WriteOptions(**{"field_manager": "test", **request.options}, warnings=[])
    try:
        found = codec.encode(await _answer(cluster, request, options, remote=remote))
    except ApiError as error:
        found = status_json(error.status)
    return Outcome(found, tuple(options.warnings))


async def _answer(cluster: ControlPlane, request: Request, options: WriteOptions, *, remote: bool) -> Any:
    target = request.target
    if isinstance(target, CustomTarget):
        resource = cluster.server.catalogue.by_path(*target.place)
        assert resource is not None
        target = Target(resource, target.namespace, target.name, target.subresource)
    data = request.body if isinstance(request.body, bytes) else msgspec.json.encode(request.body)
    raw = RawBody(data, request.content_type)
    if request.verb in ("create", "update"):
        body: Any = raw if remote else await cluster.backend.read(target, ADMIN, raw, options)
        if request.verb == "update" and not remote:
            check_named(body.metadata.name, target)
        write: Any = cluster.backend.create if request.verb == "create" else cluster.backend.update
        return await write(target, ADMIN, body, options)
    patch = Patch(PatchType(request.verb), RawBody(data, request.verb))
    if not remote:
        patch = read_patch(patch, target.resource)
    return await cluster.backend.patch(target, ADMIN, patch, options)


def compute_all_remotely(patcher: Any) -> None:
    """Let every change of an object with a ``RemoteStages`` be computed there."""
    patcher.setattr(write_surroundings, "is_heavy", lambda *_: True)
