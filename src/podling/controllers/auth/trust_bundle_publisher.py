"""The certificate that verifies the API server, as a ClusterTrustBundle of its signer.

The bundle is named after its content; other bundles of the signer are deleted.
Upstream: ``pkg/controller/certificates/clustertrustbundlepublisher``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import structs

from podling.api.certificates_v1beta1 import ClusterTrustBundle, ClusterTrustBundleSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key, key_of
from podling.client.runner import AwaitChange
from podling.controllers.auth.sync_metrics import SyncMetrics
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import ApiError, is_not_found

SIGNER = "kubernetes.io/kube-apiserver-serving"
PASS = Key("", "")
"""The only key: all bundles of the signer are looked at together."""
SYNCS = "[ALPHA] Number of syncs that occurred in cluster trust bundle publisher."
SECONDS = "[ALPHA] The time it took to sync a cluster trust bundle."


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
        self._syncs = SyncMetrics("clustertrustbundle_publisher", SYNCS, SECONDS)
        self._bundles = context.informers.informer(ClusterTrustBundle)
        self._bundles.add_handler(self._changed, lambda old, new: self._changed(new), self._changed)
        self.queue.add(PASS)

    def _changed(self, bundle: ClusterTrustBundle) -> None:
        if bundle.spec.signer_name == SIGNER:
            self.queue.add(PASS)

    async def reconcile(self, key: Key) -> AwaitChange:
        with self._syncs.counted():
            await self._publish()
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
        yield from self._syncs.families()
