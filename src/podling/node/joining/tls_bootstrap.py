"""Certificates through CertificateSigningRequests: the first one with a token, later ones as the node itself.

A request is named after its key, so one that was made before an interruption is found again.
Upstream: ``k8s.io/client-go/util/certificate/csr``.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence

from podling import clock
from podling.api.certificates_v1 import CertificateSigningRequest, CertificateSigningRequestSpec
from podling.api.core_v1 import ConfigMap, Node
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client, Unreachable
from podling.machinery import cluster_info
from podling.machinery.cluster_info import Networking
from podling.machinery.errors import ApiError, is_already_exists, is_not_found
from podling.node.joining.key_pairs import key_digest, request_pem
from podling.node.joining.refusals import JoinRefused, refusal

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
LOOK_SECONDS = 0.02
LOOK_SECONDS_MAX = 2.0


class RequestDenied(Exception):
    """A request for a certificate was denied or failed; the text says why."""


async def check_name(client: Client, node: str) -> None:
    """Raise ``JoinRefused`` if a node of this name exists, or the token is not accepted."""
    try:
        await client.get(Node, node)
    except Unreachable as error:
        raise JoinRefused(f"the API server does not answer: {error}") from error
    except ApiError as error:
        if is_not_found(error):
            return
        raise refusal(error, "look up nodes") from error
    raise JoinRefused(
        f'a node named "{node}" exists in the cluster: delete it first (kubectl delete node {node}), or '
        "choose another name with --node-name"
    )


async def cluster_networking(client: Client) -> Networking:
    """Return the cluster's network; empty where it does not say. Raises ``JoinRefused``."""
    try:
        found = await client.get(ConfigMap, cluster_info.CONFIGURATION, cluster_info.CONFIGURATION_NAMESPACE)
    except Unreachable as error:
        raise JoinRefused(f"the API server does not answer: {error}") from error
    except ApiError:
        return Networking()
    return cluster_info.networking(found.data.get(cluster_info.CONFIGURATION_KEY, ""))


async def first_certificate(client: Client, node: str, key: bytes, seconds: float) -> bytes:
    """Return the first client certificate (PEM) of a node. Raises ``JoinRefused``."""
    try:
        return await certificate(client, node, key, (), seconds)
    except RequestDenied as error:
        raise JoinRefused(str(error)) from error
    except Unreachable as error:
        raise JoinRefused(f"the API server does not answer: {error}") from error
    except ApiError as error:
        raise refusal(error, "request certificates") from error
    except TimeoutError:
        name = request_name(key)
        raise JoinRefused(
            f"the request for a certificate was not approved within {seconds:.0f} s; an administrator can do "
            f"it: kubectl certificate approve {name}; then try again"
        ) from None


async def certificate(
    client: Client, node: str, key: bytes, addresses: Sequence[str], seconds: float
) -> bytes:
    """Request a certificate and return it (PEM): for a kubelet's server if there are ``addresses``.

    Raises ``RequestDenied``, ``TimeoutError`` after ``seconds``, ``ApiError``, ``Unreachable``.
    """
    name = request_name(key)
    purpose = "server auth" if addresses else "client auth"
    spec = CertificateSigningRequestSpec(
        request=base64.b64encode(request_pem(key, node, addresses)).decode(),
        signer_name=SERVING_SIGNER if addresses else CLIENT_SIGNER,
        usages=("digital signature", purpose),
    )
    async with asyncio.timeout(seconds):
        try:
            await client.create(CertificateSigningRequest(metadata=ObjectMeta(name=name), spec=spec))
        except ApiError as error:
            if not is_already_exists(error):
                raise
        pause = LOOK_SECONDS
        while True:
            found = await client.get(CertificateSigningRequest, name)
            for condition in found.status.conditions:
                if condition.type in ("Denied", "Failed"):
                    raise RequestDenied(condition.message or f"request {name}: {condition.reason}")
            if found.status.certificate:
                return base64.b64decode(found.status.certificate)
            await clock.sleep(pause)
            pause = min(pause * 1.5, LOOK_SECONDS_MAX)


def request_name(key: bytes) -> str:
    """Return the name of the request for the certificate of a key."""
    return f"node-csr-{key_digest(key)}"
