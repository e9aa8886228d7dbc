"""Registry logins and the images that they serve, as a table."""

from __future__ import annotations

import base64

import pytest

from podling.kubelet.containers.credentials import logins_for, registry_logins
from podling.runtime.image_service import Credentials


def auth(user: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:pw".encode()).decode()}


@pytest.mark.parametrize(
    ("image", "users"),
    [
        ("busybox", ["hub"]),
        ("docker.io/me/app:1", ["hub"]),
        ("quay.io/team/app", ["team", "quay"]),
        ("quay.io/teammate/app", ["quay"]),
        ("eu.example.com/app@sha256:0", ["wild"]),
        ("a.b.example.com/app", []),
    ],
)
def test_most_specific_logins_serve_an_image_first(image: str, users: list[str]) -> None:
    logins = registry_logins(
        {
            "auths": {
                "https://index.docker.io/v1/": auth("hub"),
                "quay.io": auth("quay"),
                "https://quay.io/team": auth("team"),
                "*.example.com": auth("wild"),
                "broken.io": {"auth": "%%%"},
            }
        }
    )
    assert [login.username for login in logins_for(image, logins)] == users
    assert all(isinstance(login, Credentials) for login in logins.values())
