"""The table of all Services: changes one by one give the same as everything at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podling.client.base import Key
from podling.network.services.rule_table import RuleTable, TableState, Transaction
from podling.network.services.rules import (
    NOTHING,
    Chain,
    Choose,
    Element,
    GoTo,
    Remember,
    ServiceRules,
    Spread,
    Stick,
    digests,
)


def key(name: str) -> Key:
    return Key("ns", name)


def carried_out(held: TableState, change: Transaction) -> TableState:
    """Return a table's state after a transaction, as the kernel would: it refuses what contradicts itself."""
    chains, elements, memories = dict(held.chains), dict(held.elements), dict(held.memories)
    for element in change.drop_elements:
        del elements[element]
    for memory in change.drop_memories:
        del memories[memory]
    for dropped in change.drop_chains:
        del chains[dropped]
    for memory, seconds in change.add_memories.items():
        assert memory not in memories, "a set that exists with another time is refused"
        memories[memory] = seconds
    for name, chain in change.write_chains.items():
        chains[name] = digests(chain)
    for element, verdict in change.add_elements.items():
        assert element not in elements, "an element that exists with another verdict is refused"
        elements[element] = verdict
    for name, chain in change.write_chains.items():
        for rule in chain:
            assert getattr(rule, "memory", None) in (None, *memories), name
    return TableState(chains, elements, memories)


targets = st.lists(st.sampled_from([bytes((10, 0, 0, n, 0, 80)) for n in range(4)]), min_size=1, unique=True)


@st.composite
def rules(draw: st.DrawFn, name: str) -> ServiceRules:
    """Return rules of a Service: some keys are its own, others are claimed by several."""
    chains: dict[str, Chain] = {}
    elements: dict[Element, str] = {}
    memories: dict[str, int] = {}
    chosen = tuple(draw(targets))
    if draw(st.booleans()):
        seconds = draw(st.sampled_from([10, 20]))
        for target in chosen:
            memories[f"affinity-{name}-{target[3]}"] = seconds
            chains[f"endpoint-{name}-{target[3]}"] = (
                Remember(f"affinity-{name}-{target[3]}"),
                Spread((target,), 6),
            )
        sticks = tuple(Stick(f"affinity-{name}-{t[3]}", f"endpoint-{name}-{t[3]}") for t in chosen)
        chains[f"service-{name}"] = (*sticks, Choose(tuple(f"endpoint-{name}-{t[3]}" for t in chosen)))
    else:
        chains[f"service-{name}"] = (Spread(chosen, 6),)
    if draw(st.booleans()):
        chains[f"external-{name}"] = (GoTo(f"service-{name}"),)
    for shared in draw(st.sets(st.sampled_from(["one", "two"]))):
        elements[Element("service-ips", shared.encode())] = draw(st.sampled_from(sorted(chains)))
    for member in draw(st.sets(st.sampled_from(["a", "b"]))):
        elements[Element("cluster-ips", member.encode())] = ""
    return ServiceRules(chains, elements, memories)


NAMES = ("a", "b", "c")
changes = st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=3), max_size=8)


@given(batches=changes, data=st.data())
def test_changes_give_what_rendering_everything_gives(batches: list[list[str]], data: st.DataObject) -> None:
    table, held = RuleTable(), TableState()
    wanted: dict[Key, ServiceRules] = {}
    for names in batches:
        batch = {key(name): data.draw(st.one_of(st.just(NOTHING), rules(name)), name) for name in names}
        wanted.update(batch)
        held = carried_out(held, table.put(batch))
        assert held == table.state()
    fresh = RuleTable()
    everything = fresh.put({name: each for name, each in wanted.items() if each != NOTHING})
    assert carried_out(TableState(), everything) == held
    assert not table.difference(held)


@given(data=st.data())
def test_difference_makes_any_table_right(data: st.DataObject) -> None:
    table, other = RuleTable(), RuleTable()
    for found in (table, other):
        found.put({key(name): data.draw(rules(name)) for name in data.draw(st.sets(st.sampled_from(NAMES)))})
    assert carried_out(other.state(), table.difference(other.state())) == table.state()


def test_large_difference_comes_in_parts_that_give_the_same() -> None:
    table = RuleTable()
    names = [f"{number:04}" for number in range(1200)]
    table.put(
        {
            key(name): ServiceRules(
                {
                    f"service-{name}": (Spread((bytes(6),), 6),),
                    f"external-{name}": (GoTo(f"service-{name}"),),
                },
                {Element("service-ips", name.encode()): f"external-{name}"},
            )
            for name in names
        }
    )
    held = TableState({"service-0007": ("other",), "service-gone": ("old",)}, {}, {})
    parts = list(table.difference(held).in_parts(held.chains))
    assert len(parts) == 7
    assert max(len([chain for chain in part.write_chains.values() if chain]) for part in parts) == 500
    assert "service-0007" not in parts[0].write_chains, "an existing chain is never empty in between"
    for part in parts:
        held = carried_out(held, part)
    assert held == table.state()


def test_change_of_one_service_costs_what_it_costs() -> None:
    table = RuleTable()
    table.put({key(str(n)): ServiceRules({f"service-{n}": (Spread((bytes(6),), 6),)}) for n in range(1000)})
    changed = ServiceRules({"service-5": (Spread((b"\x0a" + bytes(5),), 6),)})
    change = table.put({key("5"): changed})
    assert set(change.write_chains) == {"service-5"}
    assert not change.drop_chains
    assert not table.put({key("5"): changed})


def test_first_name_has_a_key_that_two_services_claim() -> None:
    element = Element("service-ips", b"k")
    table = RuleTable()
    second = ServiceRules({"service-b": (Spread((bytes(6),), 6),)}, {element: "service-b"})
    first = ServiceRules({"service-a": (Spread((bytes(6),), 6),)}, {element: "service-a"})
    table.put({key("b"): second})
    assert table.put({key("a"): first}).add_elements == {element: "service-a"}
    assert table.put({key("a"): NOTHING}).add_elements == {element: "service-b"}
    assert table.put({key("b"): NOTHING}).drop_elements == {element}
