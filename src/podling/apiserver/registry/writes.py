"""Writing objects: the stages between a request's object and the stored one.

No authorisation happens here. The stages are:

defaulting → mutating admission → the kind's preparation → validation → validating admission →
compare-and-swap. Differences between kinds lie in their ``KindRules``; nothing here depends on a particular
kind.

A write is decided on the state it reads and stored only if that state still holds. Otherwise it is decided
again, unless the request names a resourceVersion. A write that changes nothing stores nothing.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling import clock
from podling.apiserver.admission.base import Operation, release
from podling.apiserver.registry.changes import Changes
from podling.apiserver.registry.creations import Creations
from podling.apiserver.registry.remote_stages import RemoteStages
from podling.apiserver.registry.removals import Removals
from podling.apiserver.registry.write_surroundings import WriteSurroundings, admission_request
from podling.client.requests import Target, User, WriteOptions


class Writes:
    """Writes objects of every kind to one store."""

    def __init__(self, surroundings: WriteSurroundings) -> None:
        self._in = surroundings
        creations = Creations(self._in)
        changes, removals = Changes(self._in, creations), Removals(self._in)
        self.create = creations.create
        self.change, self.apply, self.act = changes.change, changes.apply, changes.act
        self.remove = removals.remove

    @property
    def remote(self) -> RemoteStages | None:
        """Return what computes large writes; None computes all of them here."""
        return self._in.remote

    @remote.setter
    def remote(self, remote: RemoteStages) -> None:
        self._in.remote = remote

    async def admitted(
        self,
        target: Target,
        user: User,
        body: Any,
        options: WriteOptions,
        operation: Operation = Operation.CREATE,
    ) -> Any:
        """Return the body of a POST to a subresource, or the options of a connection, after admission."""
        request = admission_request(operation, target, user, clock.now(), options, body)
        try:
            body = await self._in.admission.admit(request)
            await self._in.admission.validate(structs.replace(request, object=body))
        finally:
            release(request.releases)
        return body
