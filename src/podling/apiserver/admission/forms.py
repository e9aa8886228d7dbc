"""A request's objects as plain data, in the version that a rule names.

A rule for ``autoscaling/v2`` is about what is written through ``autoscaling/v1`` as well: webhooks and
policies then see the object converted, and what they make of it is converted back.
Upstream: ``VersionedAttributes`` in ``apiserver/pkg/admission/conversion.go``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from podling.apiserver.admission.base import AdmissionRequest, Server
from podling.apiserver.kinds.common.views import shown_form, stored_form
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource


class Form(Struct, frozen=True):
    """The request as a rule about ``resource`` sees it; None for an object that there is not."""

    resource: Resource
    object: Any
    old: Any


async def plain_in(obj: Any, resource: Resource, server: Server) -> Any:
    """Return an object as plain data in the version of ``resource``. Raises ``ApiError`` when that fails."""
    if obj is None or isinstance(obj, dict):
        return obj
    if isinstance(obj, CustomObject):
        return codec.to_plain(await server.converted(obj, resource))
    return codec.to_plain(shown_form(resource, obj))


class Forms:
    """The forms of one request, each made once."""

    def __init__(self, request: AdmissionRequest, server: Server) -> None:
        self._request, self._server = request, server
        self._made: dict[str, Form] = {}

    async def of(self, resource: Resource) -> Form:
        """Raises ``ApiError`` when the objects cannot be converted."""
        found = self._made.get(resource.group_version)
        if found is None:
            request = self._request
            new = await plain_in(request.object, resource, self._server)
            old = await plain_in(request.old, resource, self._server)
            found = self._made[resource.group_version] = Form(resource, new, old)
        return found

    async def taken_back(
        self, plain: dict[str, Any], resource: Resource, field_validation: str = "Ignore"
    ) -> Any:
        """The request's object that ``plain``, in the form of ``resource``, stands for; with its defaults.

        Raises ``ApiError`` for what stands for none, and if ``field_validation`` is so for unknown fields.
        """
        request = self._request
        if isinstance(request.object, dict):
            return plain
        whole = self.is_whole
        obj = codec.convert(plain, self.kind(resource), field_validation)[0]
        if isinstance(obj, CustomObject):
            obj = await self._server.converted(obj, request.resource)
        if not whole:
            return obj
        return self._server.defaulted(stored_form(resource, obj), request.resource)

    @property
    def is_whole(self) -> bool:
        """True if the request is about an object of its resource, not of a part (``scale``)."""
        request = self._request
        return isinstance(request.object, request.resource.storage_resource.type | CustomObject)

    def kind(self, resource: Resource) -> type[Any]:
        """Return the type of the request's object in the form of ``resource``."""
        found: type[Any] = resource.type if self.is_whole else type(self._request.object)
        return found
