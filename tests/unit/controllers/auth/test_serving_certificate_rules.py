"""Rules about certificates of kubelets' servers."""

from __future__ import annotations

import pytest

from podling.api.certificates_v1 import CertificateSigningRequestSpec
from podling.api.core_v1 import Node, NodeAddress, NodeStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.auth import serving_certificate_rules as rules
from podling.machinery.certificate_requests import Wanted

NODES = ("system:nodes",)
OWN = Wanted("system:node:n1", NODES, ("n1",), addresses=("192.0.2.1",))


def spec(user: str = "system:node:n1", groups: tuple[str, ...] = NODES) -> CertificateSigningRequestSpec:
    usages = ("digital signature", "server auth")
    signer = "kubernetes.io/kubelet-serving"
    return CertificateSigningRequestSpec(
        request="", signer_name=signer, usages=usages, username=user, groups=groups
    )


@pytest.mark.parametrize(
    ("asked", "wanted", "own"),
    [
        (spec(), OWN, True),
        (spec("system:node:n2"), OWN, False),
        (spec(groups=("system:masters",)), OWN, False),
        (spec("admin"), OWN, False),
        (spec(), Wanted("system:node:n1", ("system:masters",), ("n1",)), False),
        (spec(), Wanted("system:node:n1", NODES), False),
    ],
)
def test_only_requests_of_a_node_for_itself_are_its_own(
    asked: CertificateSigningRequestSpec, wanted: Wanted, own: bool
) -> None:
    assert rules.is_own(asked, wanted) is own


@pytest.mark.parametrize("name", ["kubernetes", "localhost", "kubernetes.example.org"])
def test_names_of_the_api_server_are_denied(name: str) -> None:
    wanted = Wanted(f"system:node:{name}", NODES, (name,), addresses=("192.0.2.1",))
    assert rules.denial(wanted, {}) == f"{name} is a name of the API server"


def test_addresses_of_others_are_known_in_every_form() -> None:
    def node(name: str, type_: str, address: str) -> Node:
        status = NodeStatus(addresses=(NodeAddress(type=type_, address=address),))
        return Node(metadata=ObjectMeta(name=name), status=status)

    nodes = (
        node("n1", "InternalIP", "192.0.2.1"),
        node("n2", "InternalIP", "2001:DB8::0:2"),
        node("n3", "ExternalIP", "192.0.2.3"),
        node("n4", "Hostname", "n4.example.org"),
    )
    assert rules.taken_addresses("n1", nodes, ("192.0.2.9", "2001:db8:0::9")) == {
        "2001:db8::2": "node n2",
        "192.0.2.3": "node n3",
        "192.0.2.9": "the API server",
        "2001:db8::9": "the API server",
    }
