"""The NodePorts plugin."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    ContainerPort,
)
from podling.scheduler.plugins.node_ports import NodePorts
from podling.scheduler.podfacts import facts_of
from tests.unit.scheduler.scheduling import (
    accepted,
    cache_of,
    container,
    facts,
    node,
    pod,
    unresolvable,
)


def port(number: int, protocol: str = "TCP", address: str = "") -> ContainerPort:
    return ContainerPort(container_port=80, host_port=number, protocol=protocol, host_ip=address)


def ports(text: str) -> list[ContainerPort]:
    """Return the ports of ``PROTOCOL/ADDRESS/NUMBER``, several with blanks between."""
    parts = (word.split("/") for word in text.split())
    return [port(int(number), protocol, address) for protocol, address, number in parts]


class TestHostPorts:
    @pytest.mark.parametrize(
        ("used", "wanted", "free"),
        [
            (port(80), port(80), False),
            (port(80), port(81), True),
            (port(80), port(80, "UDP"), True),
            (port(80, address="10.0.0.1"), port(80, address="10.0.0.2"), True),
            (port(80, address="10.0.0.1"), port(80, address="10.0.0.1"), False),
            (port(80, address="10.0.0.1"), port(80), False),
            (port(80), port(80, address="10.0.0.1"), False),
            (port(80, address="0.0.0.0"), port(80, address="10.0.0.1"), False),
            (ContainerPort(container_port=80), port(80), True),
        ],
    )
    def test_host_ports_conflict_by_address_and_protocol(
        self, used: ContainerPort, wanted: ContainerPort, free: bool
    ) -> None:
        cache = cache_of(node("n"), pods={"n": [pod(containers=[container(ports=[used])])]})
        one = facts(containers=[container(ports=[wanted])])
        assert accepted(NodePorts(), one, cache) == (["n"] if free else [])
        assert unresolvable(NodePorts(), one, cache) == []

    @pytest.mark.parametrize(
        ("used", "wanted", "free"),
        [
            ("UDP/127.0.0.1/8080", "UDP/127.0.0.1/8000 UDP/127.0.0.1/8080", False),
            ("TCP/127.0.0.1/8001 UDP/127.0.0.1/8081", "TCP/127.0.0.1/8001 UDP/127.0.0.1/8080", False),
            ("TCP/127.0.0.1/8001", "TCP/10.0.10.10/8001 TCP/0.0.0.0/8001", False),
            ("TCP/0.0.0.0/8001 UDP/0.0.0.0/8001", "UDP/127.0.0.1/8001", False),
            ("TCP/0.0.0.0/8001", "UDP/127.0.0.1/8001", True),
            (
                "TCP/127.0.0.1/9090 TCP/127.0.0.1/9191 TCP/127.0.1.1/8080",
                "TCP/127.0.0.1/80 TCP/127.0.1.1/80 TCP/127.0.1.1/90 TCP/127.0.1.1/100",
                True,
            ),
            (
                "TCP/127.0.0.1/9090 TCP/127.0.1.1/90 TCP/127.0.1.1/8080",
                "TCP/127.0.0.1/80 TCP/127.0.1.1/80 TCP/127.0.1.1/90 TCP/127.0.1.1/100",
                False,
            ),
            ("", "TCP/127.0.0.1/80", True),
        ],
    )
    def test_one_taken_port_of_several_is_a_conflict(self, used: str, wanted: str, free: bool) -> None:
        """The cases of upstream's ``TestNodePorts`` and ``TestFits`` with several ports."""
        cache = cache_of(node("n"), pods={"n": [pod(containers=[container(ports=ports(used))])]})
        one = facts(containers=[container(ports=ports(wanted))])
        assert accepted(NodePorts(), one, cache) == (["n"] if free else [])

    @pytest.mark.parametrize(
        ("used", "wanted", "free"),
        [
            ("TCP/127.0.0.1/80", "//81", True),
            ("TCP/127.0.0.1/80", "//80", False),
            ("TCP/127.0.0.1/80", "//0", True),
            ("TCP/127.0.0.1/80", "TCP/0.0.0.0/80", False),
            ("UDP/127.0.0.1/80", "TCP/0.0.0.0/80", True),
            ("TCP/127.0.0.1/79 TCP/127.0.0.1/81 TCP/127.0.0.1/82", "TCP/0.0.0.0/80", True),
            ("TCP/0.0.0.0/80", "TCP/127.0.0.1/80", False),
            ("TCP/0.0.0.0/79 UDP/0.0.0.0/80 TCP/0.0.0.0/81 TCP/0.0.0.0/82", "TCP/127.0.0.1/80", True),
            ("TCP/127.0.0.1/79 UDP/127.0.0.1/80 TCP/127.0.0.1/81 TCP/127.0.0.1/82", "TCP/127.0.0.1/80", True),
        ],
    )
    def test_absent_address_and_protocol_are_any_address_and_tcp(
        self, used: str, wanted: str, free: bool
    ) -> None:
        """The cases of upstream's ``TestHostPortInfo_Check``."""
        cache = cache_of(node("n"), pods={"n": [pod(containers=[container(ports=ports(used))])]})
        one = facts(containers=[container(ports=ports(wanted))])
        assert accepted(NodePorts(), one, cache) == (["n"] if free else [])

    @pytest.mark.parametrize("protocol", ["TCP", ""])
    @pytest.mark.parametrize("address", ["0.0.0.0", ""])
    def test_removed_ports_leave_nothing(self, protocol: str, address: str) -> None:
        """The cases of upstream's ``TestHostPortInfo_AddRemove`` with valid ports."""
        text = " ".join(
            f"{kind}/{where}/{number}"
            for where in ("127.0.0.1", address)
            for kind, number in ((protocol, 79), ("UDP", 80), (protocol, 81), (protocol, 82))
        )
        user = pod(containers=[container(ports=ports(text))])
        cache = cache_of(node("n"), pods={"n": [user]})
        one = facts(containers=[container(ports=ports("TCP/0.0.0.0/79"))])
        assert accepted(NodePorts(), one, cache) == []
        cache.remove_pod(user.metadata.uid or "")
        assert accepted(NodePorts(), one, cache) == ["n"]
        assert not any(cache.port_taken(0, each) for each in facts_of(user).ports)

    def test_ports_of_sidecars_count_and_those_of_init_containers_do_not(self) -> None:
        sidecar = container(ports=[port(80)], restart_policy="Always")
        init = container(ports=[port(81)])
        assert [each.port for each in facts(init_containers=(sidecar, init)).ports] == [80]

    def test_a_port_is_free_again_when_its_pod_has_gone(self) -> None:
        user = pod(containers=[container(ports=[port(80)])])
        cache = cache_of(node("n"), pods={"n": [user]})
        one = facts(containers=[container(ports=[port(80)])])
        cache.remove_pod(user.metadata.uid or "")
        assert accepted(NodePorts(), one, cache) == ["n"]
