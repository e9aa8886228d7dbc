"""Owners of projected tokens."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.kubelet.volumes.projected import single_user


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return msgspec.convert({"spec": {"containers": containers, **spec}}, Pod)


@pytest.mark.parametrize(
    ("users", "outer", "single"),
    [([1, 1], None, 1), ([1, 2], None, None), ([None, 1], 1, 1), ([None], None, None)],
)
def test_single_user_of_all_containers_is_found(
    users: list[int | None], outer: int | None, single: int | None
) -> None:
    containers = [
        {"name": f"c{n}", "securityContext": {"runAsUser": user} if user is not None else {}}
        for n, user in enumerate(users)
    ]
    context = {"runAsUser": outer} if outer is not None else {}
    assert single_user(pod(*containers, securityContext=context)) == single
