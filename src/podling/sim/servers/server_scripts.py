"""The types of the servers of a scenario: webhooks and aggregated APIs that the API server calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field

from podling.sim.scenario_parts import Duration, Part


class Review(Part, frozen=True, kw_only=True):
    """An answer to an admission review.

    ``where`` is a CEL expression over ``request``, ``object`` and ``oldObject``, which are those of the
    review. It is false for a review without a field that it reads. ``patch`` is a JSON patch. ``code`` and
    ``message`` are those of a refusal.
    """

    where: str = ""
    allowed: bool = True
    code: int = 403
    message: str = ""
    warnings: tuple[str, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()


class ApiResource(Part, frozen=True, kw_only=True):
    """A resource that an aggregated API lists, without objects. ``name`` is the plural."""

    name: str
    kind: str
    namespaced: bool = True


class Api(Part, frozen=True, kw_only=True):
    """A group and version that a server answers."""

    group: str
    version: str
    resources: tuple[ApiResource, ...] = ()


class Server(Part, frozen=True, kw_only=True):
    """A server that the API server calls: behind a Service, ``namespace/name``, or outside at a URL.

    A Service must have a ready endpoint, and a running pod there. ``seconds`` is the time that an answer
    takes; it differs by ``spread`` at most, drawn by the seed. The first of ``reviews`` that fits answers an
    admission review; without one the request is allowed. Conversions return the objects in the wanted
    version, otherwise as they are. ``responses`` are the bodies of further GET requests by their paths,
    which may be patterns.
    """

    service: str = ""
    url: str = ""
    seconds: Duration = field(default_factory=partial(Duration, 0))
    spread: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    reviews: tuple[Review, ...] = ()
    apis: tuple[Api, ...] = ()
    responses: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name by which actions choose it."""
        return self.service or self.url

    def serves(self, called: str) -> bool:
        """Return whether this is the server that is called by this Service, or at this URL."""
        if self.service:
            return called == self.service
        return called == self.url or called.startswith(self.url.rstrip("/") + "/")
