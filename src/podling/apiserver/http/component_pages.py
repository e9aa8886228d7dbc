"""The handlers of ``/flagz`` and ``/statusz``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from aiohttp import web

from podling import clock
from podling.apiserver.http import discovery
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.replies import TEXT, reply, reply_object
from podling.machinery.component_pages import FLAGZ, GATES, STATUSZ, Page, flagz, statusz, wanted
from podling.machinery.feature_gates import is_enabled

COMPONENT = "apiserver"


class ComponentPages:
    """The pages of this process, each behind its feature gate; there is none of flags without any.

    Args:
        flags: the flags of the server and their values.
        gates: the feature gates that differ from their defaults.
    """

    def __init__(self, flags: Mapping[str, str], gates: Mapping[str, bool]) -> None:
        self._flags = flags
        self._started = clock.now()
        shown = {FLAGZ: bool(flags), STATUSZ: True}
        self.paths = tuple(path for path, gate in GATES.items() if shown[path] and is_enabled(gate, gates))

    async def serve(self, request: HttpRequest, served: list[str]) -> web.StreamResponse:
        """Answer with the page at the request's path. Raises 406.

        Args:
            served: all paths of the server.
        """
        form, version = wanted(request.path, request.headers.get("Accept", ""))
        page = self._page(request.path, served)
        if not version:
            return await reply(request, page.text.encode(), media_type=TEXT)
        if warning := page.warning(version):
            request.warnings = (*request.warnings, warning)
        return await reply_object(request, msgspec.json.encode(page.document(version)), media_type=form)

    def _page(self, path: str, served: list[str]) -> Page:
        if path == FLAGZ:
            return flagz(COMPONENT, self._flags)
        return statusz(COMPONENT, discovery.KUBERNETES, self._started, clock.now(), served)
