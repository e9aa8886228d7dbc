"""Services of the server for admission plugins beside its objects: ``admission.base.Server``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from podling.apiserver.auth.authz import Decision, RbacAuthorizer
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.backends.local_servers import LocalServers
from podling.apiserver.customresources.catalogue import Catalogue
from podling.apiserver.customresources.conversion import Conversion
from podling.apiserver.kinds.common.base import Context
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.requests import User
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.fields import FieldError
from podling.machinery.scheme import RESOURCES, Resource, by_kind, by_path
from podling.store.base import Store

_BUILT_IN: dict[str, list[Resource]] = {}
for _resource in RESOURCES:
    _BUILT_IN.setdefault(_resource.key_prefix, []).append(_resource)


class PluginSupport:
    """``admission.base.Server``.

    Args:
        client: acts for the server itself.
        recorder: makes a recorder of events, by the name of its component.
        feature_gates: the gates that differ from their defaults.
    """

    def __init__(  # noqa: PLR0913 the services of a server
        self,
        store: Store,
        catalogue: Catalogue,
        conversion: Conversion,
        authorizer: RbacAuthorizer,
        client: Client,
        recorder: Callable[[str], EventRecorder],
        local_servers: LocalServers | None = None,
        feature_gates: Mapping[str, bool] = NO_GATES,
    ) -> None:
        self.store, self.client, self.recorder = store, client, recorder
        self.local_servers, self.feature_gates = local_servers, feature_gates
        self._catalogue, self._conversion = catalogue, conversion
        self._authorizer = authorizer

    def versions(self, resource: Resource) -> Sequence[Resource]:
        if not isinstance(resource, CustomResource):
            return _BUILT_IN.get(resource.key_prefix, (resource,))
        return [each for each in self._catalogue.resources() if each.key_prefix == resource.key_prefix]

    def by_path(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the served resource of a path."""
        return by_path(group, version, plural) or self._catalogue.by_path(group, version, plural)

    def resource(self, group: str, version: str, kind: str) -> Resource | None:
        wanted = (group, version, kind)
        custom = (
            each for each in self._catalogue.resources() if (each.group, each.version, each.kind) == wanted
        )
        return by_kind(*wanted) or next(custom, None)

    async def converted(self, obj: Any, resource: Resource) -> Any:
        return await self._conversion.converted(obj, resource)

    def defaulted(self, obj: Any, resource: Resource) -> Any:
        return self._catalogue.rules_for(resource).default(obj)

    def errors_in(self, obj: Any, resource: Resource, now: datetime) -> list[FieldError]:
        return self._catalogue.rules_for(resource).validate(obj, Context(now=now))

    def decide(self, user: User, asked: Attributes) -> Decision:
        return self._authorizer.decide(user, asked)
