"""The NodePorts plugin."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import (
    ContainerPort,
)
from podling.scheduler.plugins.node_ports import NodePorts
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
