"""Effects of a namespace's Pod Security labels."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import Namespace, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.machinery.errors import ApiError
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.manifests import PLAIN_POD, obj

PREFIX = "pod-security.kubernetes.io/"


async def namespace(cluster: ControlPlane, **labels: str) -> None:
    given = {f"{PREFIX}{mode.replace('_', '-')}": level for mode, level in labels.items()}
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team", labels=given)))


IN_TEAM = "metadata: {namespace: team}\n"


async def test_enforced_pods_are_refused(cluster: ControlPlane) -> None:
    await namespace(cluster, enforce="baseline")
    with pytest.raises(ApiError) as caught:
        await cluster.client.create(obj(Pod, f"{IN_TEAM}spec: {{hostNetwork: true}}", PLAIN_POD))
    assert caught.value.code == 403
    assert str(caught.value) == (
        'pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    )
    await cluster.client.create(obj(Pod, IN_TEAM, PLAIN_POD))


async def test_warnings_apply_to_pod_templates(cluster: ControlPlane) -> None:
    await namespace(cluster, warn="baseline", warn_version="v1.30")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"hostPID": True, **PLAIN_POD["spec"]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = obj(Deployment, "", {"metadata": {"name": "web", "namespace": "team"}, "spec": spec})
    options = WriteOptions()
    await cluster.backend.create(Target(resource_of(Deployment), "team"), SYSTEM, deployment, options)
    assert options.warnings == ['would violate PodSecurity "baseline:v1.30": host namespaces (hostPID=true)']


async def test_labels_must_name_a_level(cluster: ControlPlane) -> None:
    with pytest.raises(ApiError) as caught:
        await namespace(cluster, enforce="strict")
    assert str(caught.value) == (
        'Namespace "team" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: '
        '"strict": must be one of privileged, baseline, restricted'
    )
