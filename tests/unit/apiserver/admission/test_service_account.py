"""ServiceAccount: token volumes, and accounts that must exist."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    ServiceAccount,
)
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import codec
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod, refusal_of_pod


async def test_the_token_comes_in_one_projected_volume(full_cluster: ControlPlane) -> None:
    pod = await create_pod(full_cluster)
    assert pod.spec.service_account_name == pod.spec.service_account == "default"
    (volume,) = pod.spec.volumes
    assert volume.name.startswith("kube-api-access-")
    assert len(volume.name) == len("kube-api-access-") + 5
    assert codec.to_plain(volume.projected) == {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
    }
    (mount,) = pod.spec.containers[0].volume_mounts
    assert (mount.name, mount.read_only) == (volume.name, True)
    assert mount.mount_path == "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_automount_of_the_pod_overrides_the_account(
    full_cluster: ControlPlane, of_account: bool | None, of_pod: bool | None, mounted: bool
) -> None:
    metadata = ObjectMeta(name="robot", namespace="default")
    account = ServiceAccount(metadata=metadata, automount_service_account_token=of_account)
    await full_cluster.client.create(account)
    own = "" if of_pod is None else f", automountServiceAccountToken: {str(of_pod).lower()}"
    pod = await create_pod(full_cluster, f"spec: {{serviceAccountName: robot{own}}}")
    assert bool(pod.spec.volumes) is mounted


async def test_an_account_must_exist(full_cluster: ControlPlane) -> None:
    assert await refusal_of_pod(full_cluster, "spec: {serviceAccountName: ghost}") == (
        403,
        'pods "web" is forbidden: error looking up service account default/ghost: '
        'serviceaccount "ghost" not found',
    )


async def test_mirror_pod_may_not_use_a_service_account(full_cluster: ControlPlane) -> None:
    mirror = "metadata: {annotations: {kubernetes.io/config.mirror: x}}\nspec: {nodeName: n1"
    pod = await create_pod(full_cluster, mirror + "}")
    assert (pod.spec.volumes, pod.spec.service_account_name) == ((), "")
    code, message = await refusal_of_pod(
        full_cluster, f"{mirror}, serviceAccountName: default}}".replace("web", "two")
    )
    assert (code, message) == (
        403,
        'pods "web" is forbidden: a mirror pod may not reference service accounts',
    )
