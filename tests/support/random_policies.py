"""Hypothesis strategies: policies, pods and namespaces of a small world, in which they often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from podling.api.meta_v1 import LabelSelector, LabelSelectorRequirement, ObjectMeta
from podling.api.networking_v1 import (
    IPBlock,
    NetworkPolicy,
    NetworkPolicyEgressRule,
    NetworkPolicyIngressRule,
    NetworkPolicyPeer,
    NetworkPolicyPort,
    NetworkPolicySpec,
)
from podling.network.policy.values import NamedPort, PolicyPod
from tests.support.policy_reading import Packet

NAMESPACES = ("x", "y", "kube-system")
PROTOCOLS = ("TCP", "UDP", "SCTP")
ADDRESSES = (*(f"10.0.0.{number}" for number in range(1, 7)), "fd00::1", "fd00::2", "fd00::3")
OUTSIDE = ("10.0.0.200", "192.0.2.7", "fd00::99", "2001:db8::1")
PORTS = (52, 53, 80, 81, 9153)
_BLOCKS = (
    ("0.0.0.0/0", ("10.0.0.0/30", "10.0.0.4/32")),
    ("10.0.0.0/24", ("10.0.0.0/29",)),
    ("10.0.0.2/32", ()),
    ("192.0.2.0/24", ("192.0.2.0/25", "192.0.2.0/26")),
    ("::/0", ("fd00::2/128",)),
    ("fd00::/64", ("fd00::/127",)),
)

labels = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"]))
_requirement = st.one_of(
    st.builds(
        LabelSelectorRequirement,
        key=st.sampled_from(["app", "tier"]),
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2, unique=True).map(tuple),
    ),
    st.builds(
        LabelSelectorRequirement,
        key=st.sampled_from(["app", "tier"]),
        operator=st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)
selectors = st.builds(
    LabelSelector, match_labels=labels, match_expressions=st.lists(_requirement, max_size=2).map(tuple)
)


def _block(choice: tuple[str, tuple[str, ...]], kept: int) -> IPBlock:
    return IPBlock(cidr=choice[0], except_=choice[1][:kept])


_peer = st.one_of(
    st.builds(NetworkPolicyPeer, ip_block=st.builds(_block, st.sampled_from(_BLOCKS), st.integers(0, 2))),
    st.builds(NetworkPolicyPeer, pod_selector=selectors),
    st.builds(NetworkPolicyPeer, namespace_selector=selectors),
    st.builds(NetworkPolicyPeer, pod_selector=selectors, namespace_selector=selectors),
)
_port = st.one_of(
    st.builds(NetworkPolicyPort, protocol=st.sampled_from(PROTOCOLS)),
    st.builds(NetworkPolicyPort, protocol=st.sampled_from(PROTOCOLS), port=st.sampled_from(PORTS)),
    st.builds(
        NetworkPolicyPort,
        protocol=st.sampled_from(PROTOCOLS),
        port=st.sampled_from([53, 80]),
        end_port=st.sampled_from([80, 81, 10000]),
    ),
    st.builds(NetworkPolicyPort, protocol=st.sampled_from(PROTOCOLS), port=st.sampled_from(["web", "dns"])),
)
_ports = st.lists(_port, max_size=2).map(tuple)
_peers = st.lists(_peer, max_size=2).map(tuple)
_TYPES = (("Ingress",), ("Egress",), ("Ingress", "Egress"))
policies = st.builds(
    lambda namespace, name, spec: NetworkPolicy(
        metadata=ObjectMeta(namespace=namespace, name=name), spec=spec
    ),
    st.sampled_from(NAMESPACES),
    st.sampled_from(["p", "q", "r"]),
    st.builds(
        NetworkPolicySpec,
        pod_selector=selectors,
        policy_types=st.sampled_from(_TYPES),
        ingress=st.lists(st.builds(NetworkPolicyIngressRule, from_=_peers, ports=_ports), max_size=2).map(
            tuple
        ),
        egress=st.lists(st.builds(NetworkPolicyEgressRule, to=_peers, ports=_ports), max_size=2).map(tuple),
    ),
)
_named = st.builds(
    NamedPort, st.sampled_from(["web", "dns"]), st.sampled_from(PROTOCOLS), st.sampled_from(PORTS)
)


def pods(key: str, addresses: st.SearchStrategy[tuple[str, ...]]) -> st.SearchStrategy[PolicyPod]:
    return st.builds(
        PolicyPod,
        key=st.just(key),
        namespace=st.sampled_from(NAMESPACES),
        labels=labels,
        addresses=addresses,
        ports=st.lists(_named, max_size=2).map(tuple),
        local=st.booleans(),
        ended=st.sampled_from([False, False, True]),
    )


def worlds() -> st.SearchStrategy[list[PolicyPod]]:
    """Pods of which each has addresses of its own."""
    each = [pods(f"pod{number}", st.just((address,))) for number, address in enumerate(ADDRESSES[:5])]
    both = pods("dual", st.just((ADDRESSES[5], ADDRESSES[6])))
    six = pods("six", st.just((ADDRESSES[7],)))
    return st.tuples(*each, both, six).map(list)


namespaces = st.dictionaries(st.sampled_from(NAMESPACES), labels, min_size=2)


def packets() -> st.SearchStrategy[Packet]:
    four = [each for each in (*ADDRESSES, *OUTSIDE) if "." in each]
    six = [each for each in (*ADDRESSES, *OUTSIDE) if ":" in each]
    families = st.sampled_from([four, six])
    kinds = st.one_of(
        st.tuples(st.sampled_from(PROTOCOLS), st.sampled_from((*PORTS, 8000))),
        st.just(("ICMP", 0)),
    )
    return st.builds(
        lambda pair, kind: Packet(*pair, *kind),
        families.flatmap(lambda known: st.tuples(st.sampled_from(known), st.sampled_from(known))),
        kinds,
    )
