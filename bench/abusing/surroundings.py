"""The cluster that is abused: its namespaces, its two users, and the rights of each."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.abusing.schemas import large_definition
from bench.abusing.wire import Endpoint, Reply, Wire, endpoint_of, make_request, tls_of
from podling.client.kubeconfig import load

INNOCENT, TENANT = "innocent", "tenant"
ELSEWHERE = "127.0.0.2"
"""The abuser's address: limits by address must not hold up the others."""
LISTED = 50
WRITTEN = 10
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CORE = "/api/v1"


@dataclass(frozen=True)
class Surroundings:
    """The addresses and credentials of the users of a cluster."""

    admin: Endpoint
    innocent: Endpoint
    tenant: Endpoint


class Admin:
    """Requests of the cluster's administrator, over one connection."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._context: ssl.SSLContext = tls_of(endpoint)
        self._wire: Wire | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the decoded answer. Raises ``RuntimeError`` for a status code of 400 and above."""
        if self._wire is None or not self._wire.is_open:
            self._wire = await Wire.open(self.endpoint, self._context)
        data = b"" if body is None else json.dumps(body).encode()
        reply: Reply = await self._wire.ask(make_request(self.endpoint, method, path, data), keep=True)
        if reply.code >= 400:
            raise RuntimeError(f"{method} {path}: {reply.code} {reply.body[:500]!r}")
        return json.loads(reply.body)

    async def create(self, path: str, kind: str, version: str, name: str, **fields: Any) -> None:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}
        await self.ask("POST", path, body)

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()


async def prepare(kubeconfig: Path) -> Surroundings:
    """Create the namespaces and users, and the objects that the innocent client reads."""
    admin = Admin(endpoint_of(load(kubeconfig)))
    try:
        for namespace in (INNOCENT, TENANT):
            await admin.create(f"{CORE}/namespaces", "Namespace", "v1", namespace)
        await _create_roles(admin)
        await _create_objects(admin)
        return Surroundings(
            admin.endpoint,
            admin.endpoint.with_token(await _token(admin, INNOCENT)),
            admin.endpoint.with_token(await _token(admin, TENANT), ELSEWHERE),
        )
    finally:
        admin.close()


async def clean(places: Surroundings) -> None:
    """Delete the objects that the abuser may have left."""
    admin = Admin(places.admin)
    try:
        for kind in ("configmaps", "events", "pods"):
            await admin.ask("DELETE", f"{CORE}/namespaces/{TENANT}/{kind}")
    finally:
        admin.close()


async def _token(admin: Admin, namespace: str) -> str:
    """Create a service account with the rights of ClusterRole edit in its namespace; return a token of it."""
    accounts = f"{CORE}/namespaces/{namespace}/serviceaccounts"
    await admin.create(accounts, "ServiceAccount", "v1", "editor")
    await admin.create(
        f"{RBAC}/namespaces/{namespace}/rolebindings",
        "RoleBinding",
        "rbac.authorization.k8s.io/v1",
        "editor",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        subjects=[{"kind": "ServiceAccount", "name": "editor", "namespace": namespace}],
    )
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await admin.ask("POST", f"{accounts}/editor/token", request)
    return str(answer["status"]["token"])


async def _create_roles(admin: Admin) -> None:
    """Add the rights beyond ClusterRole edit that some deeds need: custom objects, metrics, definitions."""
    version = "rbac.authorization.k8s.io/v1"
    own = [{"apiGroups": ["abuse.example"], "resources": ["*"], "verbs": ["*"]}]
    await admin.ask(
        "POST",
        f"{RBAC}/clusterroles",
        {
            "apiVersion": version,
            "kind": "ClusterRole",
            "metadata": {
                "name": "abuse-custom",
                "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
            },
            "rules": own,
        },
    )
    more = [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"]},
    ]
    await admin.create(f"{RBAC}/clusterroles", "ClusterRole", version, "abuse-more", rules=more)
    await admin.create(
        f"{RBAC}/clusterrolebindings",
        "ClusterRoleBinding",
        version,
        "abuse-more",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "abuse-more"},
        subjects=[{"kind": "ServiceAccount", "name": "editor", "namespace": TENANT}],
    )
    await admin.ask(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", large_definition("widgets", 0)
    )


async def _create_objects(admin: Admin) -> None:
    """Create the pod and the ConfigMaps that the innocent client reads and writes."""
    container = {"name": "app", "image": "podling.local/host", "command": ["sleep", "100000"]}
    namespace = f"{CORE}/namespaces/{INNOCENT}"
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    await admin.create(f"{namespace}/pods", "Pod", "v1", "read", spec=spec)
    for number in range(LISTED):
        await admin.create(
            f"{namespace}/configmaps", "ConfigMap", "v1", f"c{number:02}", data={"text": "x" * 500}
        )
