"""Kubeconfig files: the server to connect to, and the credentials.

Follows client-go's loading rules: ``$KUBECONFIG`` may name several files, of which the first with a value
wins; without it ``~/.kube/config``; without that the service account of the pod we run in.
Relative paths are relative to the file that names them, and inline data wins over a path.

Every setting is either honoured or refused by name: credential plugins (``exec``, ``auth-provider``) run
foreign programs, which this client does not do.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


USER_AGENT = "podling"
CONNECT_SECONDS = 30.0


class KubeconfigError(ValueError):
    """The configuration cannot be read, or requires an unsupported feature."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One context, resolved. Certificates and keys are PEM; empty means not given."""

    server: str
    namespace: str = "default"
    certificate_authority: bytes = b""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    client_certificate: bytes = b""
    client_key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    impersonate: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Impersonation headers with their values."""
    user_agent: str = USER_AGENT
    """The client's name, which becomes the manager of the fields that it writes."""
    connect_seconds: float = CONNECT_SECONDS
    """The time that opening a connection may take."""


def load(path: str | Path | None = None, context: str | None = None) -> Connection:
    """The connection of ``context`` (default: the current one) from ``path`` (default: the usual places).

    Raises ``KubeconfigError``.
    """
    files = [Path(path)] if path is not None else usual_files()
    existing = [file for file in files if file.exists()]
    if not existing:
        if path is None and os.environ.get("KUBERNETES_SERVICE_HOST") and SERVICE_ACCOUNT.exists():
            return in_cluster()
        raise KubeconfigError(f"no configuration: {', '.join(map(str, files))} does not exist")
    return resolve(merge([_read(file) for file in existing]), context)


def usual_files() -> list[Path]:
    """Return the paths of kubeconfig files in order of precedence."""
    named = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return named or [Path.home() / ".kube" / "config"]


def in_cluster() -> Connection:
    """Return the connection of a pod to its own cluster, from its service account."""
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = SERVICE_ACCOUNT / "namespace"
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        certificate_authority=(SERVICE_ACCOUNT / "ca.crt").read_bytes(),
        token_file=SERVICE_ACCOUNT / "token",
    )


@dataclass(slots=True)
class Merged:
    """Several files as one: the first that names a thing defines it."""

    current_context: str = ""
    contexts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    clusters: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    users: dict[str, Mapping[str, Any]] = field(default_factory=dict)


_FILE_FIELDS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def merge(documents: list[tuple[Path, Mapping[str, Any]]]) -> Merged:
    """Merge files, given with the directory that their relative paths start from."""
    merged = Merged()
    for directory, document in documents:
        merged.current_context = merged.current_context or str(document.get("current-context") or "")
        for plural, singular, into in (
            ("contexts", "context", merged.contexts),
            ("clusters", "cluster", merged.clusters),
            ("users", "user", merged.users),
        ):
            for entry in document.get(plural) or ():
                body = dict(entry.get(singular) or {})
                for name in _FILE_FIELDS:
                    if body.get(name):
                        body[name] = str(directory / body[name])
                into.setdefault(str(entry.get("name", "")), body)
    return merged


def resolve(merged: Merged, context: str | None = None) -> Connection:
    """Return the connection that one context describes."""
    name = context or merged.current_context
    if not name:
        raise KubeconfigError("no context is chosen: current-context is not set")
    chosen = _named(merged.contexts, name, "context")
    cluster = _named(merged.clusters, str(chosen.get("cluster", "")), "cluster")
    user_name = str(chosen.get("user") or "")
    user = _named(merged.users, user_name, "user") if user_name else {}
    for plugin in ("exec", "auth-provider"):
        if user.get(plugin):
            raise KubeconfigError(f'user "{user_name}": credentials from "{plugin}" are not supported')
    if not cluster.get("server"):
        raise KubeconfigError(f'cluster "{chosen.get("cluster")}": no server is given')
    certificate, key = _data(user, "client-certificate"), _data(user, "client-key")
    if bool(certificate) != bool(key):
        raise KubeconfigError(f'user "{user_name}": client-certificate and client-key go together')
    token_file = user.get("tokenFile")
    return Connection(
        server=str(cluster["server"]).rstrip("/"),
        namespace=str(chosen.get("namespace") or "default"),
        certificate_authority=_data(cluster, "certificate-authority"),
        insecure_skip_tls_verify=bool(cluster.get("insecure-skip-tls-verify")),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy_url=str(cluster.get("proxy-url") or ""),
        client_certificate=certificate,
        client_key=key,
        token=str(user.get("token") or ""),
        token_file=Path(token_file) if token_file else None,
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
        impersonate=_impersonation(user),
    )


def _named(entries: Mapping[str, Mapping[str, Any]], name: str, what: str) -> Mapping[str, Any]:
    if name not in entries:
        raise KubeconfigError(f'{what} "{name}" does not exist')
    return entries[name]


def _data(entry: Mapping[str, Any], name: str) -> bytes:
    inline = entry.get(f"{name}-data")
    try:
        if inline:
            return base64.b64decode(str(inline), validate=True)
        if entry.get(name):
            return Path(str(entry[name])).read_bytes()
    except (binascii.Error, OSError) as error:
        raise KubeconfigError(f"{name}: {error}") from error
    return b""


def _impersonation(user: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    headers: dict[str, tuple[str, ...]] = {}
    if user.get("as"):
        headers["Impersonate-User"] = (str(user["as"]),)
    if user.get("as-uid"):
        headers["Impersonate-Uid"] = (str(user["as-uid"]),)
    if user.get("as-groups"):
        headers["Impersonate-Group"] = tuple(map(str, user["as-groups"]))
    for key, values in (user.get("as-user-extra") or {}).items():
        headers[f"Impersonate-Extra-{key}"] = tuple(map(str, values))
    return headers


def _read(path: Path) -> tuple[Path, Mapping[str, Any]]:
    import yaml

    try:
        document = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, yaml.YAMLError) as error:
        raise KubeconfigError(f"{path}: {error}") from error
    if document is not None and not isinstance(document, dict):
        raise KubeconfigError(f"{path}: not a kubeconfig file")
    return path.absolute().parent, document or {}
