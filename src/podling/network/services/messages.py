"""Transactions as messages for the kernel. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from ipaddress import ip_network

from podling.network.nftables import expressions as write
from podling.network.nftables.batches import TARGETS, VERDICTS, Batch, target_data
from podling.network.services import base_rules
from podling.network.services.rule_table import Transaction
from podling.network.services.rules import (
    DROP,
    NODE,
    Allow,
    Choose,
    Drop,
    Element,
    GoTo,
    MarkForMasquerade,
    Remember,
    Rule,
    Spread,
    Stick,
    digest,
)


def batch_of(family: str, table: str, transaction: Transaction) -> Batch:
    """Return the messages of a transaction.

    Chains that are no longer used are only emptied: before Linux 6.2 the kernel still counts references from
    elements that the same transaction deletes. ``deletion_of`` removes them afterwards.
    """
    batch = Batch(family, table)
    for name in transaction.write_chains:
        batch.add_chain(name)
        batch.flush_chain(name)
    for name in sorted(transaction.drop_chains):
        batch.flush_chain(name)
    for name, keys in _by_set(transaction.drop_elements).items():
        batch.delete_elements(name, keys)
    for name in sorted(transaction.drop_memories):
        batch.delete_set(name)
    for name, seconds in transaction.add_memories.items():
        batch.add_memory(name, seconds)
    for name, chain in transaction.write_chains.items():
        for rule in chain:
            _add_rule(batch, name, rule)
    for name, keys in _by_set(transaction.add_elements).items():
        batch.add_elements(name, ((key, _data(transaction.add_elements[Element(name, key)])) for key in keys))
    return batch


def deletion_of(family: str, table: str, chains: Iterable[str]) -> Batch:
    batch = Batch(family, table)
    for name in chains:
        batch.delete_chain(name)
    return batch


def _by_set(elements: Iterable[Element]) -> Mapping[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for element in sorted(elements):
        found[element.set].append(element.key)
    return found


def _data(verdict: str) -> bytes:
    if not verdict:
        return b""
    return write.verdict_data(write.DROP) if verdict == DROP else write.verdict_data(write.GOTO, verdict)


def _add_rule(batch: Batch, chain: str, rule: Rule) -> None:
    batch.add_rule(chain, _expressions(batch, rule), digest(rule))


def _expressions(batch: Batch, rule: Rule) -> bytes:
    """Return the expressions of a rule; a map that it needs comes into the batch before it."""
    family = batch.family
    match rule:
        case MarkForMasquerade(source):
            return _only_from(family, source) + write.verdict(write.JUMP, base_rules.MARK)
        case GoTo(chain, source):
            return _only_from(family, source) + write.verdict(write.GOTO, chain)
        case Allow(source):
            return _only_from(family, source) + write.verdict(write.RETURN)
        case Drop():
            return write.verdict(write.DROP)
        case Spread((target,), protocol):
            return write.protocol_is(protocol) + write.translate_destination_to(family, target)
        case Spread(targets, protocol):
            choices = batch.add_choices(TARGETS[family], [target_data(each) for each in targets])
            chosen = write.random_number(len(targets)) + write.look_up(*choices)
            return write.protocol_is(protocol) + chosen + write.translate_destination(family)
        case Stick(memory, chain):
            return write.load_source(family) + write.is_in(memory) + write.verdict(write.GOTO, chain)
        case Remember(memory):
            return write.load_source(family) + write.remember(memory)
        case Choose(chains):
            verdicts = [write.verdict_data(write.GOTO, each) for each in chains]
            choices = batch.add_choices(VERDICTS, verdicts)
            return write.random_number(len(chains)) + write.decide_by(*choices)


def _only_from(family: str, source: str) -> bytes:
    if not source:
        return b""
    return write.source_is_local() if source == NODE else write.source_is_in(family, ip_network(source))
