"""The certificate that verifies the API server, as a ClusterTrustBundle of its signer.

The bundle is named after its content; other bundles of the signer are deleted.
Upstream: ``pkg/controller/certificates/clustertrustbundlepublisher``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import structs

from podling import clock
from podling.api.certificates_v1beta1 import ClusterTrustBundle, ClusterTrustBundleSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.histograms import Histogram, counters, histograms

SIGNER = "kubernetes.io/kube-apiserver-serving"
PASS = Key("", "")
"""The only key: all bundles of the signer are looked at together."""
SYNC_SECONDS = tuple(0.001 * 2**power for power in range(15))


def bundle_name(certificate: str) -> str:
    digest = hashlib.sha256(certificate.encode()).hexdigest()
    return f"{SIGNER.replace('/', ':')}:{digest[:24]}"


class TrustBundleController(Controller):
    """Keeps the bundle as it should be.

    Args:
        certificate: the root certificate, PEM.
    """

    name: ClassVar[str] = "kube-apiserver-serving-clustertrustbundle-publisher-controller"

    def __init__(self, context: ControllerContext, certificate: str) -> None:
        super().__init__(context)
        metadata = ObjectMeta(name=bundle_name(certificate))
        spec = ClusterTrustBundleSpec(signer_name=SIGNER, trust_bundle=certificate)
        self._wanted = ClusterTrustBundle(metadata=metadata, spec=spec)
        self._syncs: dict[tuple[str], Histogram] = {}  # by the code of the answer
        self._bundles = context.informers.informer(ClusterTrustBundle)
        self._bundles.add_handler(self._changed, lambda old, new: self._changed(new), self._changed)
        self.queue.add(PASS)

    def _changed(self, bundle: ClusterTrustBundle) -> None:
        if bundle.spec.signer_name == SIGNER:
            self.queue.add(PASS)

    async def reconcile(self, key: Key) -> AwaitChange:
        began, code = clock.monotonic(), "200"
        try:
            await self._publish()
        except ApiError as error:
            code = str(error.status.code or 500)
            raise
        finally:
            syncs = self._syncs.setdefault((code,), Histogram(SYNC_SECONDS))
            syncs.observe(clock.monotonic() - began)
        return AwaitChange()

    async def _publish(self) -> None:
        wanted = self._wanted
        held = self._bundles.get(key_of(wanted))
        if held is None:
            await self.client.create(wanted)
        elif held.spec.trust_bundle != wanted.spec.trust_bundle:
            spec = structs.replace(held.spec, trust_bundle=wanted.spec.trust_bundle)
            await self.client.update(structs.replace(held, spec=spec))
        for bundle in list(self._bundles.values()):
            if bundle.spec.signer_name == SIGNER and bundle.metadata.name != wanted.metadata.name:
                await self._delete(bundle.metadata.name or "")

    async def _delete(self, name: str) -> None:
        try:
            await self.client.delete(ClusterTrustBundle, name)
        except ApiError as error:
            if not is_not_found(error):
                raise

    def families(self) -> Iterator[Any]:
        yield counters(
            "clustertrustbundle_publisher_sync",
            "[ALPHA] Number of syncs that occurred in cluster trust bundle publisher.",
            ("code",),
            {code: syncs.count for code, syncs in self._syncs.items()},
        )
        yield histograms(
            "clustertrustbundle_publisher_sync_duration_seconds",
            "[ALPHA] The time it took to sync a cluster trust bundle.",
            ("code",),
            self._syncs,
        )
