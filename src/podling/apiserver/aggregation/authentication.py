"""The ConfigMap in ``kube-system`` with which servers behind APIServices authenticate our requests.

It names the authority that signs our proxy's certificate, the name in that certificate, and the headers with
the user. Upstream: ``kube-apiserver``'s ``clusterauthenticationtrust`` controller.
"""

from __future__ import annotations

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import PolicyRule, Role
from podling.client.local import LocalClient
from podling.machinery.errors import ApiError, is_already_exists

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"
READER = "extension-apiserver-authentication-reader"
FRONT = "front-proxy-client"
"""The name in the front's certificate."""


def trust(ca_certificate: str) -> ConfigMap:
    """Return the ConfigMap for a cluster whose one authority is this (PEM)."""
    return ConfigMap(
        metadata=ObjectMeta(name=NAME, namespace=NAMESPACE),
        data={
            "client-ca-file": ca_certificate,
            "requestheader-allowed-names": f'["{FRONT}"]',
            "requestheader-client-ca-file": ca_certificate,
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-uid-headers": '["X-Remote-Uid"]',
            "requestheader-username-headers": '["X-Remote-User"]',
        },
    )


async def publish(client: LocalClient, ca_certificate: str) -> None:
    """Write the ConfigMap as it is now, and the role that may read it."""
    wanted = trust(ca_certificate)
    rule = PolicyRule(
        verbs=("get", "list", "watch"), api_groups=("",), resources=("configmaps",), resource_names=(NAME,)
    )
    await _create(client, Role(metadata=ObjectMeta(name=READER, namespace=NAMESPACE), rules=(rule,)))
    if not await _create(client, wanted):
        await client.patch(ConfigMap, NAME, {"data": dict(wanted.data)}, NAMESPACE)


async def _create(client: LocalClient, obj: ConfigMap | Role) -> bool:
    """Return whether it was not there yet."""
    try:
        await client.create(obj)
    except ApiError as error:
        if not is_already_exists(error):
            raise
        return False
    return True
