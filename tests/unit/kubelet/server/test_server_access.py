"""Access to the kubelet's server, reviewed by the API server: in memory, and over TLS."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.authentication_v1 import TokenRequest, TokenRequestSpec
from podling.api.core_v1 import ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from podling.client.base import Client, Unreachable
from podling.client.requests import User
from podling.kubelet.config import KubeletConfig
from podling.kubelet.server.server_access import CACHE_SIZE, Cache, ServerAccess
from podling.testing import ControlPlane
from tests.unit.kubelet.server.served_kubelet import Served

NODE = User("system:node:node", ("system:nodes", "system:authenticated"))


class Counting:
    """A client that counts the reviews, and can lose the API server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.reviews: list[str] = []
        self.is_reachable = True

    async def create(self, obj: Any) -> Any:
        self.reviews.append(type(obj).__name__)
        if not self.is_reachable:
            raise Unreachable("no route to host")
        return await self._client.create(obj)


def certificate(name: str, *groups: str) -> dict[str, Any]:
    organizations = tuple((("organizationName", group),) for group in groups)
    return {"subject": (*organizations, (("commonName", name),))}


async def grant(cluster: ControlPlane, user: str, *subresources: str) -> None:
    rule = PolicyRule(
        api_groups=("",), resources=tuple(f"nodes/{each}" for each in subresources), verbs=("get",)
    )
    await cluster.client.create(ClusterRole(metadata=ObjectMeta(name=user), rules=(rule,)))
    await cluster.client.create(
        ClusterRoleBinding(
            metadata=ObjectMeta(name=user),
            role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=user),
            subjects=(Subject(kind="User", name=user, api_group="rbac.authorization.k8s.io"),),
        )
    )


def access(cluster: ControlPlane, **settings: Any) -> tuple[ServerAccess, Counting]:
    client: Any = Counting(cluster.client_for(NODE))
    return ServerAccess(client, KubeletConfig(**settings), "node"), client


async def test_client_needs_a_right_on_the_subresource(cluster: ControlPlane) -> None:
    decide, _ = access(cluster)
    await grant(cluster, "monitor", "metrics", "pods")
    monitor = certificate("monitor")
    for path in ("/metrics", "/metrics/cadvisor", "/pods", "/runningpods/"):
        assert await decide.refusal("GET", path, monitor) is None, path
    for path, needed in (
        ("/configz", "configz proxy"),
        ("/stats/summary", "stats"),
        ("/exec/a/b/c", "proxy"),
    ):
        text = f"Forbidden (user=monitor, verb=get, resource=nodes, subresource(s)=[{needed}])\n"
        assert await decide.refusal("GET", path, monitor) == (403, text)


async def test_proxy_is_sufficient_where_rights_are_fine_grained(cluster: ControlPlane) -> None:
    decide, _ = access(cluster)
    await grant(cluster, "old", "proxy")
    assert await decide.refusal("GET", "/configz", certificate("old")) is None
    assert (await decide.refusal("GET", "/metrics", certificate("old")) or (0, ""))[0] == 403


async def test_answers_are_kept_for_their_times(cluster: ControlPlane) -> None:
    decide, client = access(cluster)
    await grant(cluster, "monitor", "metrics")
    for _ in range(3):
        assert await decide.refusal("GET", "/metrics", certificate("monitor")) is None
        assert await decide.refusal("GET", "/metrics", certificate("other"))
    assert client.reviews == ["SubjectAccessReview"] * 2
    await cluster.advance(seconds=31)
    assert await decide.refusal("GET", "/metrics", certificate("monitor")) is None
    assert await decide.refusal("GET", "/metrics", certificate("other"))
    assert client.reviews == ["SubjectAccessReview"] * 3, "a refusal is kept for 30 s, a permission for 5 min"
    await cluster.advance(seconds=300)
    assert await decide.refusal("GET", "/metrics", certificate("monitor")) is None
    assert len(client.reviews) == 4


async def test_token_is_reviewed_once_in_two_minutes(cluster: ControlPlane) -> None:
    decide, client = access(cluster)
    user = "system:serviceaccount:default:monitor"
    await cluster.client.create(ServiceAccount(metadata=ObjectMeta(name="monitor", namespace="default")))
    request = TokenRequest(spec=TokenRequestSpec(expiration_seconds=3600))
    made = await cluster.client.create_subresource(ServiceAccount, "monitor", "token", request, "default")
    assert isinstance(made, TokenRequest)
    token = made.status.token
    await grant(cluster, user, "metrics")
    for _ in range(2):
        assert await decide.refusal("GET", "/metrics", None, f"Bearer {token}") is None
    assert client.reviews == ["TokenReview", "SubjectAccessReview"]
    await cluster.advance(seconds=121)
    assert await decide.refusal("GET", "/metrics", None, f"Bearer {token}") is None
    assert client.reviews == ["TokenReview", "SubjectAccessReview", "TokenReview"]
    assert await decide.refusal("GET", "/metrics", None, "Bearer wrong") == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, 401),
        ({"authentication_anonymous_enabled": True}, 403),
        ({"authentication_anonymous_enabled": True, "authorization_mode": "AlwaysAllow"}, 0),
        ({"authorization_mode": "AlwaysAllow"}, 401),
    ],
)
async def test_anonymous_request_is_admitted_by_configuration_alone(
    cluster: ControlPlane, settings: dict[str, Any], code: int
) -> None:
    decide, _ = access(cluster, **settings)
    assert (await decide.refusal("GET", "/pods", None) or (0, ""))[0] == code


async def test_tokens_are_refused_where_the_webhook_is_off(cluster: ControlPlane) -> None:
    decide, client = access(cluster, authentication_webhook_enabled=False)
    assert await decide.refusal("GET", "/pods", None, "Bearer any") == (401, "Unauthorized")
    assert client.reviews == []


async def test_without_the_api_server_only_trusted_clients_and_kept_answers_are_left(
    cluster: ControlPlane,
) -> None:
    decide, client = access(cluster)
    await grant(cluster, "monitor", "metrics")
    assert await decide.refusal("GET", "/metrics", certificate("monitor")) is None
    client.is_reachable = False
    assert await decide.refusal("GET", "/metrics", certificate("monitor")) is None
    assert await decide.refusal("GET", "/exec/a/b/c", certificate("kube-apiserver-kubelet-client")) is None
    text = "Authorization error (user=other, verb=get, resource=nodes, subresource(s)=[metrics])\n"
    assert await decide.refusal("GET", "/metrics", certificate("other")) == (500, text)
    assert await decide.refusal("GET", "/metrics", None, "Bearer any") == (401, "Unauthorized")


async def test_cache_keeps_the_latest_used(cluster: ControlPlane) -> None:
    cache: Cache[int, int] = Cache(size=2)
    cache.put(1, 10, 60)
    cache.put(2, 20, 60)
    assert cache.get(1) == 10
    cache.put(3, 30, 60)
    assert (cache.get(1), cache.get(2), cache.get(3)) == (10, None, 30)
    assert CACHE_SIZE >= 1000


@pytest.mark.e2e
@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_certificates_are_reviewed_over_tls(served: Served) -> None:
    assert await served.nobody.get("/pods") == (401, "Unauthorized")
    refused = "Forbidden (user=system:node:node, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
    assert await served.node.get("/pods") == (403, refused)
    code, text = await served.api_server.get("/pods")
    assert code == 200
    assert '"kind":"PodList"' in text
    assert '"name":"web"' in text
    code, text = await served.api_server.get("/configz")
    assert code == 200
    assert '"maxPods": 110' in text
    code, text = await served.api_server.get("/runningpods/")
    assert code == 200
    assert '"containers":[{"image"' in text
