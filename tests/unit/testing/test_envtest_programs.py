"""The programs for Go's envtest: their flags, and a control plane started as envtest starts it."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from podling import clock
from podling.apiserver.auth.pki import Pki
from podling.testing.envtest_command import PROGRAMS, envtest
from podling.testing.envtest_programs import flags_of, unsupported

SECONDS = 60
ENVTEST_FLAGS = {
    "service-cluster-ip-range": "10.0.0.0/24",
    "allow-privileged": "true",
    "disable-admission-plugins": "ServiceAccount",
    "authorization-mode": "RBAC",
    "service-account-issuer": "https://127.0.0.1:1/",
    "service-account-key-file": "sa-signer.crt",
    "service-account-signing-key-file": "sa-signer.key",
    "etcd-servers": "http://127.0.0.1:1",
    "bind-address": "127.0.0.1",
}
"""The flags with which envtest starts an API server, but those that differ each time."""


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        (["--a=1", "--b", "2", "--c"], {"a": "1", "b": "2", "c": "true"}),
        (["--a=1=2", "--a=3"], {"a": "3"}),
        (["--a", "--b=", "word"], {"a": "true", "b": ""}),
        ([], {}),
    ],
)
def test_flags_are_read_as_go_reads_them(arguments: Sequence[str], flags: dict[str, str]) -> None:
    assert flags_of(arguments) == flags


@pytest.mark.parametrize(
    ("flags", "messages"),
    [
        (ENVTEST_FLAGS, []),
        ({"insecure-port": "0"}, []),
        ({"insecure-port": "8080"}, ["--insecure-port=8080 is not supported: there is no port without TLS"]),
        ({"audit-log-path": "x"}, ["--audit-log-path is not supported"]),
        (
            {"authorization-mode": "AlwaysAllow"},
            ["--authorization-mode=AlwaysAllow is not supported: clients are authorised by RBAC"],
        ),
    ],
)
def test_flags_without_effect_are_reported(flags: dict[str, str], messages: list[str]) -> None:
    assert unsupported(flags) == messages


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    done = CliRunner().invoke(envtest, [str(tmp_path / "assets")])
    assert done.output == f"export KUBEBUILDER_ASSETS={tmp_path / 'assets'}\n"
    return tmp_path / "assets"


def test_programs_are_executable(assets: Path) -> None:
    assert sorted(path.name for path in assets.iterdir()) == sorted(PROGRAMS)
    assert all(os.access(path, os.X_OK) for path in assets.iterdir())


@pytest.mark.parametrize(
    ("program", "flag", "present"),
    [
        ("kube-apiserver", "--insecure-port", False),
        ("kube-apiserver", "--secure-port", True),
        ("etcd", "--unsafe-no-fsync", True),
    ],
)
def test_help_lists_flags_one_a_line(assets: Path, program: str, flag: str, present: bool) -> None:
    out = subprocess.run([str(assets / program), "--help"], capture_output=True, text=True, check=True).stdout
    assert any(line.strip().startswith(flag) for line in out.splitlines()) is present


def test_kubectl_is_the_machines_own(assets: Path, tmp_path: Path) -> None:
    other = tmp_path / "bin"
    other.mkdir()
    (other / "kubectl").write_text('#!/bin/sh\necho "own $@"\n')
    (other / "kubectl").chmod(0o755)
    command = [str(assets / "kubectl"), "get", "pods"]
    path = f"{assets}:{other}:/usr/bin:/bin"
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == "own get pods\n"


def free_port() -> int:
    """Return a port as envtest suggests one: of a socket that was just closed."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def wait_until_healthy(url: str, process: subprocess.Popen[str]) -> None:
    """Request a health page until it is there, as envtest does."""
    context = ssl._create_unverified_context()
    deadline = clock.monotonic() + SECONDS
    while clock.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, context=context, timeout=SECONDS) as answer:
                assert answer.status == 200
                return
        except OSError:
            continue
    pytest.fail(f"{url} is not healthy: {process.stderr and process.stderr.read()}")


def ended(process: subprocess.Popen[str]) -> int:
    """End a process as envtest does; return its exit code."""
    process.send_signal(signal.SIGTERM)
    code = process.wait(SECONDS)
    if process.stderr:
        process.stderr.close()
    return code


def test_control_plane_lives_as_envtest_wants_it(assets: Path, tmp_path: Path) -> None:
    """Certificates are envtest's own: one authority for the server, one for its clients."""
    folder, clients = tmp_path / "certificates", Pki(tmp_path / "clients")
    folder.mkdir()
    authority = Pki(tmp_path / "server")
    pair, user = authority.server("apiserver", ("127.0.0.1",)), clients.admin()
    (folder / "apiserver.crt").write_bytes(pair.certificate.read_bytes())
    (folder / "apiserver.key").write_bytes(pair.key.read_bytes())
    url = f"http://127.0.0.1:{free_port()}"
    etcd = subprocess.Popen(
        [assets / "etcd", f"--listen-client-urls={url}", f"--data-dir={tmp_path}"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until_healthy(f"{url}/health", etcd)
        port = free_port()
        flags = ENVTEST_FLAGS | {
            "cert-dir": str(folder),
            "client-ca-file": str(clients.ca.certificate),
            "secure-port": str(port),
        }
        command = [str(assets / "kube-apiserver"), *(f"--{name}={value}" for name, value in flags.items())]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            wait_until_healthy(f"https://127.0.0.1:{port}/healthz", server)
            context = ssl.create_default_context(cadata=authority.ca_pem.decode())
            context.load_cert_chain(user.certificate, user.key)
            address = f"https://127.0.0.1:{port}/api/v1/namespaces/default/services/kubernetes"
            with urllib.request.urlopen(address, context=context, timeout=SECONDS) as answer:
                assert b'"clusterIP":"10.0.0.1"' in answer.read()
        finally:
            assert ended(server) == 0
    finally:
        assert ended(etcd) == 0
