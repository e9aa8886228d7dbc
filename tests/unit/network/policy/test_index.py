"""Network policies in tables: the tables mean what the specification says, and follow every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.api.networking_v1 import NetworkPolicy
from podling.network.policy.chains import Group
from podling.network.policy.index import PolicyIndex
from podling.network.policy.policies import Policy, policy_of
from podling.network.policy.tables import Changes, Tables, standing_sets
from podling.network.policy.values import NodeFacts, PolicyPod
from tests.support import random_policies as worlds
from tests.support.policy_reading import Packet, allows, compile_tables, passes

FACTS = NodeFacts(families=(4, 6))
unique = {"unique_by": lambda policy: (policy.metadata.namespace, policy.metadata.name)}


@settings(max_examples=200)
@given(
    st.lists(worlds.policies, max_size=4, **unique),  # type: ignore[arg-type]
    worlds.worlds(),
    worlds.namespaces,
    st.lists(worlds.packets(), min_size=20, max_size=60),
)
def test_tables_allow_what_the_specification_allows(
    policies: Sequence[NetworkPolicy],
    pods: Sequence[PolicyPod],
    namespaces: Mapping[str, Mapping[str, str]],
    packets: Sequence[Packet],
) -> None:
    tables = compile_tables(map(policy_of, policies), pods, namespaces, FACTS)
    for packet in packets:
        assert passes(tables, packet) == allows(policies, pods, namespaces, packet), packet


class Kernel:
    """Carries changes out as nft would: refuses what does not exist, and what is still referred to."""

    def __init__(self) -> None:
        self.tables = Tables(sets={name: {} for name in standing_sets(FACTS.families)}, chains={})

    def apply(self, changes: Changes) -> None:
        sets, chains = self.tables.sets, self.tables.chains
        for name in changes.new_sets:
            assert name not in sets
            sets[name] = {}
        for chain in changes.new_chains:
            assert chain.name not in chains
            chains[chain.name] = chain
        for name, elements in changes.removed.items():
            for element in elements:
                del sets[name][element]
        for name, added in changes.added.items():
            for element, verdict in added.items():
                assert element not in sets[name]
                assert not verdict or verdict in chains
                sets[name][element] = verdict
        for name in changes.old_chains:
            del chains[name]
        for name in changes.old_sets:
            del sets[name]
        self.check_references()

    def check_references(self) -> None:
        verdicts = {each for held in self.tables.sets.values() for each in held.values() if each}
        assert verdicts <= self.tables.chains.keys()
        for chain in self.tables.chains.values():
            if isinstance(chain, Group):
                assert set(chain.chains) <= self.tables.chains.keys()
            else:
                read = {name for each in chain.matches for name in (each.peers, each.targets) if name}
                assert read <= self.tables.sets.keys()


KEYS = {f"pod{number}": (address,) for number, address in enumerate(worlds.ADDRESSES[:4])}
steps = st.lists(
    st.one_of(
        st.tuples(st.just("policy"), worlds.policies),
        st.tuples(
            st.just("no policy"),
            st.tuples(st.sampled_from(worlds.NAMESPACES), st.sampled_from(["p", "q", "r"])),
        ),
        st.tuples(
            st.just("pod"),
            st.sampled_from(sorted(KEYS)).flatmap(lambda key: worlds.pods(key, st.just(KEYS[key]))),
        ),
        st.tuples(st.just("no pod"), st.sampled_from(sorted(KEYS))),
        st.tuples(st.just("namespace"), st.tuples(st.sampled_from(worlds.NAMESPACES), worlds.labels)),
        st.tuples(st.just("no namespace"), st.sampled_from(worlds.NAMESPACES)),
        st.tuples(st.just("write"), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=150)
@given(steps)
def test_every_order_of_changes_leads_to_the_same_tables(steps: Sequence[tuple[str, Any]]) -> None:
    facts = NodeFacts(families=FACTS.families, dns=("10.0.0.250",))
    index, kernel = PolicyIndex(facts), Kernel()
    policies: dict[tuple[str, str], Policy] = {}
    pods: dict[str, PolicyPod] = {}
    namespaces: dict[str, Mapping[str, str]] = {}
    for what, value in steps:
        match what:
            case "policy":
                policy = policy_of(value)
                policies[policy.namespace, policy.name] = policy
                index.put_policy(policy)
            case "no policy":
                policies.pop(value, None)
                index.remove_policy(*value)
            case "pod":
                pods[value.key] = value
                index.put_pod(value)
            case "no pod":
                pods.pop(value, None)
                index.remove_pod(value)
            case "namespace":
                namespaces[value[0]] = value[1]
                index.put_namespace(*value)
            case "no namespace":
                namespaces.pop(value, None)
                index.remove_namespace(value)
            case "write":
                kernel.apply(index.take_changes())
    kernel.apply(index.take_changes())
    wanted = compile_tables(policies.values(), pods.values(), namespaces, facts)
    assert index.tables() == wanted
    assert kernel.tables == wanted
    assert not index.take_changes()


def stored(namespace: str, **spec: Any) -> Policy:
    """Return a policy from its YAML fields."""
    body = {"metadata": {"name": "p", "namespace": namespace}, "spec": {"podSelector": {}, **spec}}
    return policy_of(msgspec.convert(body, NetworkPolicy))


ALLOW_APP_A = {"ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "a"}}}]}]}


def made(key: str, address: str, app: str, *, local: bool = False) -> PolicyPod:
    return PolicyPod(key=key, namespace="x", labels={"app": app}, addresses=(address,), local=local)


def test_address_of_an_ended_pod_gives_its_next_pod_no_right() -> None:
    index = PolicyIndex(FACTS)
    index.put_policy(stored("x", **ALLOW_APP_A))
    index.put_pod(made("server", "10.0.0.1", "server", local=True))
    index.put_pod(made("old", "10.0.0.2", "a"))
    packet = Packet("10.0.0.2", "10.0.0.1")
    assert passes(index.tables(), packet)
    index.put_pod(made("new", "10.0.0.2", "b"))
    assert not passes(index.tables(), packet), "the last pod to name an address has it"
    index.put_pod(made("old", "10.0.0.2", "a", local=True))
    assert passes(index.tables(), packet), "a pod of this node has it by its lease"
    index.remove_pod("old")
    assert not passes(index.tables(), packet)
    index.remove_pod("new")
    assert not passes(index.tables(), packet)


def test_pod_keeps_its_address_against_an_older_pod_that_changes() -> None:
    index = PolicyIndex(FACTS)
    index.put_policy(stored("x", **ALLOW_APP_A))
    index.put_pod(made("server", "10.0.0.1", "server", local=True))
    index.put_pod(made("old", "10.0.0.2", "b"))
    index.put_pod(made("new", "10.0.0.2", "b"))
    index.put_pod(made("old", "10.0.0.2", "a"))
    assert not passes(index.tables(), Packet("10.0.0.2", "10.0.0.1"))


def test_pods_of_equal_policies_share_chains() -> None:
    index = PolicyIndex(FACTS)
    for namespace, address in (("x", "10.0.0.1"), ("y", "10.0.0.2")):
        index.put_policy(stored(namespace, policyTypes=["Ingress"]))
        index.put_pod(PolicyPod(key=namespace, namespace=namespace, addresses=(address,), local=True))
    assert len(index.tables().chains) == 2, "one policy's chain, and one group of it"


def test_sets_exist_only_for_policies_of_pods_of_this_node() -> None:
    index = PolicyIndex(FACTS)
    index.put_policy(stored("x", **ALLOW_APP_A))
    index.put_pod(made("remote", "10.0.0.2", "a"))
    assert index.tables().sets.keys() == set(standing_sets(FACTS.families))
    index.put_pod(made("server", "10.0.0.1", "server", local=True))
    (name,) = (each for each in index.tables().sets if each.startswith("pods_") and each.endswith("_4"))
    assert index.tables().sets[name] == {"10.0.0.2": ""}


def test_pod_of_an_unknown_namespace_is_selected_by_no_namespace_selector() -> None:
    """``NotIn`` would select a namespace of no labels, and the labels are only not yet known."""
    index = PolicyIndex(FACTS)
    without = {"matchExpressions": [{"key": "closed", "operator": "DoesNotExist"}]}
    index.put_policy(stored("y", ingress=[{"from": [{"namespaceSelector": without}]}]))
    index.put_pod(PolicyPod(key="server", namespace="y", addresses=("10.0.0.1",), local=True))
    index.put_pod(made("client", "10.0.0.2", "a"))
    assert not passes(index.tables(), Packet("10.0.0.2", "10.0.0.1"))
    index.put_namespace("x", {})
    assert passes(index.tables(), Packet("10.0.0.2", "10.0.0.1"))
    index.put_namespace("x", {"closed": ""})
    assert not passes(index.tables(), Packet("10.0.0.2", "10.0.0.1"))
