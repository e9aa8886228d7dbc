"""The public information of a cluster that nodes of other machines can join, and the rights that they need.

The ConfigMap ``kube-public/cluster-info`` is readable without credentials. Bootstrap tokens for nodes may
request certificates and see which nodes there are; their requests, and those with which nodes renew their
certificates, are approved without a person. Names and rights are those of kubeadm
(``cmd/kubeadm/app/phases/bootstraptoken``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef
from podling.apiserver.auth.default_roles import RBAC, subject
from podling.apiserver.auth.role_rules import rule
from podling.client.local import LocalClient
from podling.machinery import cluster_info
from podling.machinery.errors import ApiError, is_already_exists, unless_gone
from podling.machinery.tokens.bootstrap_tokens import NODE_GROUP

READER = "kubeadm:bootstrap-signer-clusterinfo"
GET_NODES = "kubeadm:get-nodes"
CONFIGURATION_READER = "kubeadm:nodes-kubeadm-config"
_REQUESTS = "system:certificates.k8s.io:certificatesigningrequests"
_BINDINGS = (
    ("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", NODE_GROUP),
    ("kubeadm:node-autoapprove-bootstrap", f"{_REQUESTS}:nodeclient", NODE_GROUP),
    ("kubeadm:node-autoapprove-certificate-rotation", f"{_REQUESTS}:selfnodeclient", "system:nodes"),
    (GET_NODES, GET_NODES, NODE_GROUP),
)
"""Name, ClusterRole and group."""


def rights() -> Iterator[Any]:
    """Yield the roles and bindings with which nodes join."""
    namespace = cluster_info.NAMESPACE
    metadata = ObjectMeta(name=READER, namespace=namespace)
    yield Role(metadata=metadata, rules=(rule(("get",), "core", "configmaps", cluster_info.NAME),))
    yield RoleBinding(
        metadata=metadata,
        role_ref=RoleRef(api_group=RBAC, kind="Role", name=READER),
        subjects=(subject("User", "system:anonymous"),),
    )
    reader = ObjectMeta(name=CONFIGURATION_READER, namespace=cluster_info.CONFIGURATION_NAMESPACE)
    yield Role(metadata=reader, rules=(rule(("get",), "core", "configmaps", cluster_info.CONFIGURATION),))
    yield RoleBinding(
        metadata=reader,
        role_ref=RoleRef(api_group=RBAC, kind="Role", name=CONFIGURATION_READER),
        subjects=(subject("Group", NODE_GROUP), subject("Group", "system:nodes")),
    )
    yield ClusterRole(metadata=ObjectMeta(name=GET_NODES), rules=(rule(("get",), "core", "nodes"),))
    for name, role, group in _BINDINGS:
        yield ClusterRoleBinding(
            metadata=ObjectMeta(name=name),
            role_ref=RoleRef(api_group=RBAC, kind="ClusterRole", name=role),
            subjects=(subject("Group", group),),
        )


async def publish(client: LocalClient, text: str, configuration: str = "") -> None:
    """Publish ``text``, a kubeconfig that leads to the cluster, and grant the rights to join it.

    Signatures of tokens stay until the bootstrap signer replaces them.

    Args:
        configuration: the cluster's configuration, for nodes alone.
    """
    for each in rights():
        await _create(client, each)
    data = {cluster_info.KUBECONFIG_KEY: text}
    await _write(client, ConfigMap(metadata=_metadata(cluster_info.NAME, cluster_info.NAMESPACE), data=data))
    metadata = _metadata(cluster_info.CONFIGURATION, cluster_info.CONFIGURATION_NAMESPACE)
    own = {cluster_info.CONFIGURATION_KEY: configuration}
    await _write(client, ConfigMap(metadata=metadata, data=own))


async def withdraw(client: LocalClient) -> None:
    """Take back what is public, and the rights of tokens. Nodes that have joined may renew as before."""
    with unless_gone():
        await client.delete(ConfigMap, cluster_info.NAME, cluster_info.NAMESPACE)
    for each in rights():
        name = each.metadata.name or ""
        if name == "kubeadm:node-autoapprove-certificate-rotation":
            continue
        with unless_gone():
            await client.delete(type(each), name, each.metadata.namespace)


def _metadata(name: str, namespace: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace)


async def _write(client: LocalClient, wanted: ConfigMap) -> None:
    """Create a ConfigMap, or write its entries into the one that is there."""
    if not await _create(client, wanted):
        metadata = wanted.metadata
        await client.patch(ConfigMap, metadata.name or "", {"data": dict(wanted.data)}, metadata.namespace)


async def _create(client: LocalClient, obj: Any) -> bool:
    """Create an object; return whether it was not there yet."""
    try:
        await client.create(obj)
    except ApiError as error:
        if not is_already_exists(error):
            raise
        return False
    return True
