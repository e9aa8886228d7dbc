"""Kubeconfig files: how kubectl and client libraries find the server, trust it, and prove who they are."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path

from podling.apiserver.auth.pki import KeyPair, write_private

_FORM = """\
apiVersion: v1
kind: Config
current-context: {name}
clusters:
- name: {name}
  cluster:
    server: {server}
    certificate-authority-data: {ca}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {user}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
preferences: {{}}
"""
"""A form, so that no server loads a library for this file alone."""


def kubeconfig(server: str, ca_pem: bytes, credentials: KeyPair, *, user: str, name: str) -> bytes:
    """Return a complete kubeconfig as YAML, credentials inside.

    Args:
        server: the URL, ``https://127.0.0.1:6443``.
        name: of the cluster and of the context.
    """
    return _FORM.format(
        server=_text(server),
        ca=_data(ca_pem),
        name=_text(name),
        user=_text(user),
        certificate=_data(credentials.certificate.read_bytes()),
        key=_data(credentials.key.read_bytes()),
    ).encode()


def write_kubeconfig(path: Path, content: bytes) -> None:
    """Write a kubeconfig that only its owner can read. One that is there already is left as it is."""
    with suppress(FileNotFoundError):
        if path.read_bytes() == content and path.stat().st_mode & 0o777 == 0o600:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, content)


def _data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def _text(value: str) -> str:
    """Return a text as YAML, which takes every JSON string."""
    return json.dumps(value)
