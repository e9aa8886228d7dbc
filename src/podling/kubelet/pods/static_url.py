"""Static pods from a URL: a manifest of one pod, or a list of pods, that is read again and again.

As with files, the node's name is appended to the pods' names, and the UID depends on the content. A response
that cannot be used changes nothing: the pods of the last good one run on. An empty response means no pods.
Upstream: ``pkg/kubelet/config/http.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from podling import clock
from podling.api.core_v1 import Pod
from podling.kubelet.config import KubeletConfig
from podling.kubelet.manifest_fetch import MAX_BYTES, Fetch, FetchFailed
from podling.kubelet.pods.static_pods import (
    BadManifest,
    Completion,
    ManifestSource,
    read_manifest,
    static_pod,
)

logger = logging.getLogger(__name__)

REPORTS = 4
"""The number of failures in a row that are logged."""


class UrlPods:
    """The static pods of one URL. ``changed`` is called with all of them, by UID, whenever they changed."""

    def __init__(
        self,
        config: KubeletConfig,
        node_name: str,
        complete: Completion,
        changed: Callable[[Mapping[str, Pod]], None],
        fetch: Fetch,
    ) -> None:
        self._url = config.static_pod_url
        self._headers = config.static_pod_url_header
        self._seconds = config.http_check_frequency
        self._node_name = node_name
        self._complete = complete
        self._changed = changed
        self._fetch = fetch
        self._body: bytes | None = None
        self._failures = 0
        self.known = False
        """True once a response said which pods there are."""

    async def run(self) -> None:
        """Read the URL until cancelled."""
        while True:
            try:
                await self._read()
            except (FetchFailed, BadManifest) as error:
                self._report(str(error))
            else:
                if self._failures:
                    logger.info("successfully read pods from URL")
                self._failures = 0
            await clock.sleep(self._seconds)

    def _report(self, problem: str) -> None:
        self._failures += 1
        if self._failures <= REPORTS:
            logger.warning("failed to read pods from URL: %s", problem)

    async def _read(self) -> None:
        """Read the URL once. Raises ``FetchFailed``, ``BadManifest``."""
        found = await self._fetch(self._url, self._headers)
        if found.code != 200:
            raise FetchFailed(f"{self._url}: {found.code} {found.reason}")
        if not found.body:
            self._set({})
            self._body = None
            raise FetchFailed(f"zero-length data received from {self._url}")
        if len(found.body) > MAX_BYTES:
            raise BadManifest(f"{self._url}: larger than {MAX_BYTES} bytes")
        if found.body != self._body:
            pods = self.pods_of(found.body, clock.now())
            self._set({pod.metadata.uid or "": pod for pod in pods})
            self._body = found.body

    def pods_of(self, body: bytes, now: datetime) -> list[Pod]:
        """Return the pods of a manifest; the first of several with one name counts.

        Raises ``BadManifest`` if any of them is wrong.
        """
        plain = read_manifest(body)
        is_list = isinstance(plain, dict) and plain.get("kind") in ("PodList", "List")
        items = plain.get("items") if is_list else [plain]
        if not isinstance(items, list):
            raise BadManifest(f"{self._url}: items is no list")
        source = ManifestSource("http", self._url)
        named: dict[tuple[str | None, str | None], Pod] = {}
        for item in items:
            # Lists need not repeat the kind of their items.
            whole = {"kind": "Pod", **item} if is_list and isinstance(item, dict) else item
            pod = static_pod(whole, source, self._node_name, now, self._complete)
            named.setdefault((pod.metadata.namespace, pod.metadata.name), pod)
        return list(named.values())

    def _set(self, pods: Mapping[str, Pod]) -> None:
        self.known = True
        self._changed(pods)
