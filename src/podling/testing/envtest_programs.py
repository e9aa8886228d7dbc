"""The programs that envtest starts: an API server with a whole cluster behind it, its etcd, and kubectl.

envtest gives the API server its serving certificate (``--cert-dir``), the authority of its clients
(``--client-ca-file``), address and port, waits for ``/healthz`` or ``/readyz``, and ends both with SIGTERM.
The objects live in the API server's memory, so the etcd answers ``/health`` and nothing else.

Upstream: ``sigs.k8s.io/controller-runtime`` ``pkg/internal/testing/{controlplane,process}``.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

NODES, CLOCK = "PODLING_ENVTEST_NODES", "PODLING_ENVTEST_CLOCK"
IGNORED = (
    "advertise-address",
    "allow-privileged",
    "etcd-servers",
    "service-account-issuer",
    "service-account-key-file",
    "service-account-signing-key-file",
)
"""Flags of envtest that change nothing here: what they set up is the cluster's own."""
HONOURED = (
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "secure-port",
    "service-cluster-ip-range",
    "tls-cert-file",
    "tls-private-key-file",
)
REFUSED_ADMISSION = "ServiceAccount"
"""envtest turns this plugin off, because it runs no controller that makes accounts. Here one does."""


def flags_of(arguments: Sequence[str]) -> dict[str, str]:
    """Return the flags of a command line by name; the last one of a name counts. Pure."""
    found: dict[str, str] = {}
    waiting = ""
    for each in arguments:
        if each.startswith("--"):
            name, equals, value = each[2:].partition("=")
            found[name] = value if equals else "true"
            waiting = "" if equals else name
        elif waiting:
            found[waiting], waiting = each, ""
    return found


def unsupported(flags: dict[str, str]) -> list[str]:
    """Return the flags whose meaning would be lost, as messages. Pure."""
    found = [
        f"--{name} is not supported" for name in sorted(flags) if name not in (*IGNORED, *HONOURED, *_FIXED)
    ]
    for name, (allowed, why) in _FIXED.items():
        if flags.get(name, allowed) != allowed:
            found.append(f"--{name}={flags[name]} is not supported: {why}")
    return found


_FIXED = {
    "authorization-mode": ("RBAC", "clients are authorised by RBAC"),
    "disable-admission-plugins": (REFUSED_ADMISSION, "the admission plugins are those of a whole cluster"),
    "insecure-port": ("0", "there is no port without TLS"),
}


def api_server(arguments: Sequence[str]) -> None:
    """Run a cluster whose API server is where the flags say, until SIGTERM."""
    from podling.apiserver.auth.pki import KeyPair
    from podling.testing.cluster_thread import ClusterThread
    from podling.testing.https_front import Front
    from podling.testing.settings import TestSettings

    flags = flags_of(arguments)
    for message in unsupported(flags):
        print(f"podling: warning: {message}", file=sys.stderr)
    folder = Path(flags.get("cert-dir", "."))
    certificate = Path(flags.get("tls-cert-file") or folder / "apiserver.crt")
    key = Path(flags.get("tls-private-key-file") or folder / "apiserver.key")
    front = Front(
        host=flags.get("bind-address", "127.0.0.1"),
        port=int(flags.get("secure-port", "6443")),
        certificate=KeyPair(certificate, key) if certificate.exists() else None,
        client_ca=KeyPair(Path(flags["client-ca-file"]), key) if "client-ca-file" in flags else None,
    )
    settings = TestSettings(
        nodes=int(os.environ.get(NODES, "1")),
        clock=os.environ.get(CLOCK, "running"),
        service_range=flags.get("service-cluster-ip-range", ""),
    ).checked()
    ended = _until_signal()
    thread = ClusterThread(settings, front)
    thread.start()
    try:
        print(f"Serving securely on {front.host}:{thread.server().port}", file=sys.stderr, flush=True)
        ended.wait()
    finally:
        thread.stop()


def etcd(arguments: Sequence[str]) -> None:
    """Answer health checks at the address of the flags, until SIGTERM."""
    url = urlsplit(flags_of(arguments).get("listen-client-urls", "http://127.0.0.1:2379").partition(",")[0])
    server = ThreadingHTTPServer((url.hostname or "127.0.0.1", url.port or 2379), _Healthy)
    signal.signal(signal.SIGTERM, lambda *_: _leave())
    with server:
        print(f"ready to serve client requests on {url.netloc}", file=sys.stderr, flush=True)
        server.serve_forever()


_HEALTHY = b'{"health":"true"}'
_ANSWERS = {
    "/health": _HEALTHY,
    "/livez": _HEALTHY,
    "/readyz": _HEALTHY,
    "/version": b'{"etcdserver":"3.5.0","etcdcluster":"3.5.0"}',
}


class _Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = _ANSWERS.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: health checks come ten times a second."""


def kubectl(arguments: Sequence[str], own: Path) -> None:
    """Become the kubectl of the machine. Raises ``SystemExit`` where there is none."""
    folders = [each for each in os.get_exec_path() if Path(each).resolve() != own.resolve().parent]
    found = shutil.which("kubectl", path=os.pathsep.join(folders))
    if found is None:
        raise SystemExit("kubectl: not found; install Kubernetes' own, podling brings none")
    os.execv(found, [found, *arguments])


def _until_signal() -> Event:
    ended = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    return ended


def _leave() -> None:
    raise SystemExit(0)


_ETCD_FLAGS = (
    "advertise-client-urls",
    "data-dir",
    "listen-client-urls",
    "listen-peer-urls",
    "unsafe-no-fsync",
)
HELP: dict[str, tuple[str, ...]] = {
    "kube-apiserver": (*IGNORED, *HONOURED, "authorization-mode", "disable-admission-plugins"),
    "etcd": _ETCD_FLAGS,
}


def main(name: str, own: str, arguments: Sequence[str]) -> None:
    """Run one of the programs."""
    if name == "kubectl":
        kubectl(arguments, Path(own))
    elif "--help" in arguments:
        print(f"{name} of podling, for envtest\n\nFlags:\n")
        for flag in HELP[name]:  # one a line: envtest looks for them
            print(f"      --{flag} string")
    elif "--version" in arguments:
        print("etcd Version: 3.5.0" if name == "etcd" else "Kubernetes v1.36.2")
    else:
        programs: dict[str, Callable[[Sequence[str]], None]] = {"kube-apiserver": api_server, "etcd": etcd}
        programs[name](arguments)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
