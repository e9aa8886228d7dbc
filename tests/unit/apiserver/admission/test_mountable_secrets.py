"""Secrets that the pods of an account may use."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    ObjectReference,
    Pod,
    ServiceAccount,
)
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod, refusal_of_pod
from tests.support.manifests import obj

SECRET = "secretKeyRef: {name: theirs, key: k}"
NOT_LISTED = "is not allowed because service account careful does not reference that"
FOREIGN: list[tuple[str, str]] = [
    (
        "volumes: [{name: v, secret: {secretName: theirs}}]",
        f'volume with secret.secretName="theirs" {NOT_LISTED} secret',
    ),
    (
        f"initContainers: [{{name: i, image: x, env: [{{name: E, valueFrom: {{{SECRET}}}}}]}}]",
        f'init container i with envVar E referencing secret.secretName="theirs" {NOT_LISTED} secret',
    ),
    (
        "containers: [{name: c, image: x, envFrom: [{secretRef: {name: theirs}}]}]",
        f'container c with envFrom referencing secret.secretName="theirs" {NOT_LISTED} secret',
    ),
    (
        "imagePullSecrets: [{name: theirs}]",
        f'imagePullSecrets[0].name="theirs" {NOT_LISTED} imagePullSecret',
    ),
]


async def a_careful_account(full_cluster: ControlPlane) -> None:
    annotations = "{kubernetes.io/enforce-mountable-secrets: 'true'}"
    named = f"metadata: {{name: careful, namespace: default, annotations: {annotations}}}"
    await full_cluster.client.create(obj(ServiceAccount, f"{named}\nsecrets: [{{name: own}}]"))


@pytest.mark.parametrize(("fragment", "why"), FOREIGN)
async def test_pods_may_only_use_mountable_secrets(
    full_cluster: ControlPlane, fragment: str, why: str
) -> None:
    await a_careful_account(full_cluster)
    found = await refusal_of_pod(full_cluster, f"spec: {{serviceAccountName: careful, {fragment}}}")
    assert found == (403, f'pods "web" is forbidden: {why}')
    own = fragment.replace("theirs", "own") if "Pull" not in fragment else "volumes: []"
    await create_pod(full_cluster, f"spec: {{serviceAccountName: careful, {own}}}")


async def test_ephemeral_containers_may_only_use_mountable_secrets(full_cluster: ControlPlane) -> None:
    await a_careful_account(full_cluster)
    pod = await create_pod(full_cluster, "spec: {serviceAccountName: careful}")
    debugger = "{name: d, image: x, envFrom: [{secretRef: {name: theirs}}]}"
    wanted = obj(Pod, f"spec: {{ephemeralContainers: [{debugger}]}}").spec.ephemeral_containers
    changed = structs.replace(pod, spec=structs.replace(pod.spec, ephemeral_containers=wanted))
    with pytest.raises(ApiError) as caught:
        await full_cluster.client.update(changed, subresource="ephemeralcontainers")
    assert str(caught.value) == (
        'pods "web" is forbidden: ephemeral container d with envFrom referencing '
        f'secret.secretName="theirs" {NOT_LISTED} secret'
    )


async def test_an_account_lists_secrets_by_their_names(full_cluster: ControlPlane) -> None:
    text = "metadata: {name: a, namespace: default}\nsecrets: [{name: s, kind: Secret, namespace: other}]"
    made = await full_cluster.client.create(obj(ServiceAccount, text))
    assert made.secrets == (ObjectReference(name="s"),)
    again = await full_cluster.client.update(structs.replace(made, secrets=obj(ServiceAccount, text).secrets))
    assert again.secrets == made.secrets
