"""Certificates of authorities from ClusterTrustBundles, for projected volumes.

Upstream: ``pkg/kubelet/clustertrustbundle``.
"""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Iterable

from podling.api.certificates_v1beta1 import ClusterTrustBundle
from podling.api.core_v1 import ClusterTrustBundleProjection
from podling.client.base import Client
from podling.kubelet.failures import MissingReference
from podling.machinery.certificate_requests import pem_blocks
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.selectors import from_label_selector

GATE = "ClusterTrustBundleProjection"


async def trust_anchors(client: Client, source: ClusterTrustBundleProjection) -> bytes:
    """Return the certificates that a projection selects, each once. Raises ``MissingReference``."""
    try:
        if source.name is not None:
            bundles = [await client.get(ClusterTrustBundle, source.name)]
        else:
            bundles = await _of_signer(client, source)
    except ApiError as error:
        if not (is_not_found(error) and source.optional):
            raise MissingReference(f"while getting ClusterTrustBundle: {error}") from error
        bundles = []
    return joined(each.spec.trust_bundle for each in bundles)


async def _of_signer(client: Client, source: ClusterTrustBundleProjection) -> list[ClusterTrustBundle]:
    """Return the signer's bundles that the selector matches: none without one, all with an empty one."""
    selector = from_label_selector(source.label_selector)
    every = await client.list(ClusterTrustBundle, field_selector=f"spec.signerName={source.signer_name}")
    found = [each for each in every.items if selector.matches(each.metadata.labels)]
    if not found and not source.optional:
        raise MissingReference("combination of signerName and labelSelector matched zero ClusterTrustBundles")
    return found


def joined(bundles: Iterable[str]) -> bytes:
    """Return the certificates of bundles without repetition, in an order that lasts."""
    contents = sorted({block.content for text in bundles for block in pem_blocks(text.encode())})
    return "".join(_pem(each) for each in contents).encode()


def _pem(content: bytes) -> str:
    lines = "\n".join(textwrap.wrap(base64.b64encode(content).decode(), 64))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"
