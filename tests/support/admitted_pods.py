"""Pods in a cluster with every admission plugin."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.manifests import PLAIN_POD, merged, obj

PLAIN = merged(PLAIN_POD, {"spec": {"serviceAccountName": None}})
"""A pod that names no service account."""


async def create_pod(cluster: ControlPlane, fragment: str = "") -> Pod:
    """Create the plain pod with the fields of a YAML fragment."""
    pod: Pod = obj(Pod, fragment, PLAIN)
    return await cluster.client.create(pod)


async def refusal_of_pod(cluster: ControlPlane, fragment: str) -> tuple[int, str]:
    """Return code and message of the refusal of such a pod."""
    with pytest.raises(ApiError) as caught:
        await create_pod(cluster, fragment)
    return caught.value.code, str(caught.value)
