"""The identity of a joined node on disk: the authority that it trusts, and its own certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

from podling import clock
from podling.apiserver.auth.pki import write_private
from podling.client.http import HttpClient
from podling.client.kubeconfig import Connection
from podling.cluster.directory import DataDirectory
from podling.machinery.cluster_info import Networking
from podling.machinery.tokens.bootstrap_tokens import BootstrapToken
from podling.node.joining.discovery import FoundCluster
from podling.node.joining.key_pairs import PairFile, new_key
from podling.node.joining.tls_bootstrap import check_name, cluster_networking, first_certificate

APPROVAL_SECONDS = 30.0
"""The time that the first certificate may take: without a person, approval takes milliseconds."""


class NodeIdentity:
    """The files of one node's identity, below ``pki`` of its data directory."""

    def __init__(self, directory: DataDirectory) -> None:
        self._folder = directory.pki
        self.client = PairFile(self._folder / "kubelet-client-current.pem")
        self.server = PairFile(self._folder / "kubelet-server-current.pem")
        self._pending_key = self._folder / "kubelet-client.key.pending"

    @property
    def authority(self) -> Path:
        return self._folder / "ca.crt"

    def is_good(self) -> bool:
        """Return whether the node can authenticate with what is there."""
        period = self.client.period()
        return self.authority.exists() and period is not None and period.ends > clock.now()

    async def establish(self, found: FoundCluster, token: BootstrapToken, node: str) -> Networking:
        """Get the first certificate with a token, and keep it. Return the cluster's network.

        The key is kept before it is used, so that a request outlives an interruption. Raises ``JoinRefused``.
        """
        key = self._key()
        client = HttpClient.from_connection(
            Connection(server=found.server, certificate_authority=found.ca_pem, token=str(token))
        )
        try:
            await check_name(client, node)
            network = await cluster_networking(client)
            certificate = await first_certificate(client, node, key, APPROVAL_SECONDS)
        finally:
            await client.close()
        self.server.path.unlink(missing_ok=True)
        write_private(self.authority, found.ca_pem)
        self.client.write(certificate, key)
        self._pending_key.unlink(missing_ok=True)
        return network

    def _key(self) -> bytes:
        try:
            return self._pending_key.read_bytes()
        except FileNotFoundError:
            key = new_key()
            write_private(self._pending_key, key)
            return key

    def client_context(self) -> ssl.SSLContext:
        """Return the TLS context with which the node calls the API server."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.load_cert_chain(self.client.path)
        return context

    def forget(self) -> None:
        """Remove everything."""
        for path in (self.client.path, self.server.path, self.authority, self._pending_key):
            path.unlink(missing_ok=True)
