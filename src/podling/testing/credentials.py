"""Keys and certificates of the clusters of one process: made once, because making them takes a while.

They are made in the machine's time, which the clients of a test check them by, and removed with the process.
"""

from __future__ import annotations

import atexit
import ssl
import threading
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from podling.apiserver.auth.kubeconfig import kubeconfig
from podling.apiserver.auth.pki import KeyPair, Pki
from podling.apiserver.auth.signing import RequestSigner
from podling.node.node import server_context

LOOPBACK = "127.0.0.1"
_making = threading.Lock()


class Credentials:
    """The authority of this process' clusters, and what it has issued.

    Made outside of any cluster's loop. Attributes are files and contexts, ready for use inside of one.
    """

    def __init__(self, folder: Path) -> None:
        pki = Pki(folder)
        self.folder = folder
        self.pki = pki
        self.ca_pem = pki.ca_pem
        self.signing_key = pki.service_account_key()
        self.server = pki.server("apiserver", (LOOPBACK, "localhost"))
        self.admin = pki.admin()
        self.kubelet_client = pki.kubelet_client()
        self.kubelet_server = pki.node_server("kubelet", (LOOPBACK,))
        self.front: KeyPair = pki.client("front-proxy-client", "front-proxy-client")
        self.signer = RequestSigner(pki)

    @cached_property
    def kubelet_context(self) -> ssl.SSLContext:
        """The TLS context of simulated kubelets' servers."""
        context = server_context(self.pki.ca.certificate)
        context.load_cert_chain(self.kubelet_server.certificate, self.kubelet_server.key)
        return context

    def kubeconfig(self, url: str) -> bytes:
        """Return an administrator's kubeconfig."""
        return kubeconfig(url, self.ca_pem, self.admin, user="podling-test", name="podling-test")


@cache
def _credentials() -> Credentials:
    folder = TemporaryDirectory(prefix="podling-test-")
    atexit.register(folder.cleanup)
    return Credentials(Path(folder.name))


def credentials() -> Credentials:
    """Return the credentials of this process."""
    with _making:
        return _credentials()
