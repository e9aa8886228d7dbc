"""Discovery of a cluster from an address, a token and the hash of its authority's public key.

The public information is first read without verification, and accepted only if the token has signed it and
its authority has the expected hash. Then it is read again from a server that this authority vouches for, and
has to be the same. Upstream: ``cmd/kubeadm/app/discovery/token``.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from podling.api.core_v1 import ConfigMap
from podling.client.base import Unreachable
from podling.client.http import HttpClient
from podling.client.kubeconfig import Connection
from podling.machinery import cluster_info
from podling.machinery.errors import ApiError
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken
from podling.node.joining.refusals import NEW_TOKEN, JoinRefused


class FoundCluster(Struct, frozen=True):
    """The address of a cluster's API server, and the certificate (PEM) of its authority."""

    server: str
    ca_pem: bytes


def checked_url(text: str) -> str:
    """Return the URL of an API server. Raises ``JoinRefused`` for another text."""
    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" and bool(parts.hostname) and parts.port is not None
    except ValueError:
        usable = False
    if not usable or parts.path.strip("/") or parts.query:
        raise JoinRefused(f"{text!r} is no address of an API server; write https://IP:PORT")
    return f"https://{parts.netloc}"


async def discover(url: str, token: BootstrapToken, ca_hash: str) -> FoundCluster:
    """Return the cluster at ``url``. Raises ``JoinRefused`` if it is not the expected one."""
    first = await _information(Connection(server=url, insecure_skip_tls_verify=True))
    text = signed_text(first, token)
    try:
        server, ca_pem = cluster_info.server_and_authority(text)
        found = cluster_info.key_hash(ca_pem)
    except ValueError as error:
        raise JoinRefused(f"the information of the cluster at {url} cannot be used: {error}") from error
    if found != ca_hash.lower():
        raise JoinRefused(
            f"the cluster at {url} has the authority {found}, and not the one of --ca-hash: another cluster "
            "answers there, or something between here and there"
        )
    second = await _information(Connection(server=url, certificate_authority=ca_pem))
    if second.data.get(cluster_info.KUBECONFIG_KEY) != text:
        raise JoinRefused(f"the cluster at {url} changed its information during the join; try again")
    return FoundCluster(server, ca_pem)


def signed_text(information: ConfigMap, token: BootstrapToken) -> str:
    """Return the kubeconfig in the information that a token has signed. Raises ``JoinRefused``. Pure."""
    text = information.data.get(cluster_info.KUBECONFIG_KEY)
    if text is None:
        raise JoinRefused("the public information of the cluster names no server")
    signature = information.data.get(f"{cluster_info.SIGNATURE_PREFIX}{token.id}")
    if signature is None:
        raise JoinRefused(
            f"the cluster knows no token {token.id} with which nodes join: it has expired or was deleted; "
            f"{NEW_TOKEN}"
        )
    if not cluster_info.is_signed(text, signature, token):
        raise JoinRefused(
            f"the signature of the cluster's information does not fit the secret of token {token.id}: the "
            "token is mistyped, or another server answers"
        )
    return text


async def _information(connection: Connection) -> ConfigMap:
    client = HttpClient.from_connection(connection)
    try:
        return await client.get(ConfigMap, cluster_info.NAME, cluster_info.NAMESPACE)
    except Unreachable as error:
        raise JoinRefused(f"no API server answers: {error}") from error
    except ApiError as error:
        raise JoinRefused(
            f"the cluster at {connection.server} takes no nodes ({error}); it has to be started with "
            "--advertise-address"
        ) from error
    finally:
        await client.close()
