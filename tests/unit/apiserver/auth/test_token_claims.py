"""Claims of service account tokens: the cases of upstream's ``claims_test.go``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podling.api.core_v1 import Node, Pod, Secret, ServiceAccount
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.issuer import ISSUER
from podling.apiserver.auth.token_claims import EXTENDED, PRIVATE, claims_of, extended, verified
from podling.sim.loop import EPOCH

ACCOUNT = ServiceAccount(metadata=ObjectMeta(name="account", namespace="ns", uid="account-uid"))
POD = Pod(metadata=ObjectMeta(name="pod", namespace="ns", uid="pod-uid"))
SECRET = Secret(metadata=ObjectMeta(name="secret", namespace="ns", uid="secret-uid"))
NODE = Node(metadata=ObjectMeta(name="node", uid="node-uid"))
HOUR = timedelta(hours=1)
AUTHENTICATION = "authentication.kubernetes.io"


def claims(bound: tuple[str, Any, Node | None] | None, *audiences: str) -> dict[str, Any]:
    return claims_of(ACCOUNT, audiences or (ISSUER,), EPOCH, EPOCH + HOUR, bound, "id")


@pytest.mark.parametrize(
    ("bound", "parts"),
    [
        (None, {}),
        (("Secret", SECRET, None), {"secret": {"name": "secret", "uid": "secret-uid"}}),
        (("Pod", POD, None), {"pod": {"name": "pod", "uid": "pod-uid"}}),
        (
            ("Pod", POD, NODE),
            {"pod": {"name": "pod", "uid": "pod-uid"}, "node": {"name": "node", "uid": "node-uid"}},
        ),
        (
            ("Pod", POD, Node(metadata=ObjectMeta(name="gone"))),
            {"pod": {"name": "pod", "uid": "pod-uid"}, "node": {"name": "gone"}},
        ),
        (("Node", NODE, None), {"node": {"name": "node", "uid": "node-uid"}}),
    ],
)
def test_claims_name_the_account_and_the_bound_object(bound: Any, parts: dict[str, Any]) -> None:
    found = claims(bound)
    seconds = int(EPOCH.timestamp())
    assert found.pop(PRIVATE) == {
        "namespace": "ns",
        "serviceaccount": {"name": "account", "uid": "account-uid"},
        **parts,
    }
    assert found == {
        "iss": ISSUER,
        "sub": "system:serviceaccount:ns:account",
        "aud": [ISSUER],
        "iat": seconds,
        "nbf": seconds,
        "exp": seconds + 3600,
        "jti": "id",
    }


@pytest.mark.parametrize(
    ("bound", "object_", "extra"),
    [
        (None, None, {}),
        (("Secret", SECRET, None), ("Secret", "secret", "secret-uid"), {}),
        (
            ("Pod", POD, NODE),
            ("Pod", "pod", "pod-uid"),
            {"pod-name": "pod", "pod-uid": "pod-uid", "node-name": "node", "node-uid": "node-uid"},
        ),
        (
            ("Node", NODE, None),
            ("Node", "node", "node-uid"),
            {"node-name": "node", "node-uid": "node-uid"},
        ),
    ],
)
def test_verified_token_names_its_user_and_bound_object(
    bound: Any, object_: tuple[str, str, str] | None, extra: dict[str, str]
) -> None:
    found = verified(claims(bound, "a", "b"))
    assert found is not None
    assert (found.namespace, found.account, found.audiences) == ("ns", "account", ("a", "b"))
    assert (found.bound, found.expires) == (object_, EPOCH + HOUR)
    user = found.user
    assert (user.name, user.uid) == ("system:serviceaccount:ns:account", "account-uid")
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        "system:authenticated",
    )
    named = {f"{AUTHENTICATION}/{name}": (value,) for name, value in extra.items()}
    assert user.extra == {f"{AUTHENTICATION}/credential-id": ("JTI=id",), **named}


@pytest.mark.parametrize("private", [None, "text", {}, {"namespace": "ns"}])
def test_claims_without_a_service_account_are_not_verified(private: Any) -> None:
    assert verified({**claims(None), PRIVATE: private}) is None


def test_token_of_a_pod_is_extended_and_warns_after_its_requested_end() -> None:
    given = claims(("Pod", POD, None))
    found = extended(given, EPOCH)
    assert found["exp"] == int((EPOCH + EXTENDED).timestamp())
    assert found[PRIVATE]["warnafter"] == given["exp"]


def test_token_for_another_audience_is_not_extended() -> None:
    given = claims(("Pod", POD, None), "vault")
    assert extended(given, EPOCH) == given
