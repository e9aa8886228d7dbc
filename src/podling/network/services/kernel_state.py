"""Reading what a table of the proxy holds. Blocking: every call runs in a thread."""

from __future__ import annotations

from collections.abc import Iterable

from podling.network.netlink.wire import attributes
from podling.network.nftables import attributes as nft
from podling.network.nftables.kernel import Kernel, parsed
from podling.network.services import base_rules
from podling.network.services.rule_table import TableState
from podling.network.services.rules import DROP, MEMORY, Element


def read(kernel: Kernel, family: str, table: str) -> TableState:
    """Return what a table holds; nothing if there is none. Raises ``OSError``."""
    chains: dict[str, list[str]] = {}
    for found in kernel.dump(nft.GETCHAIN, family):
        if _text(found[nft.CHAIN_TABLE]) == table:
            chains[_text(found[nft.CHAIN_NAME])] = []
    for found in kernel.dump(nft.GETRULE, family, nft.text(nft.RULE_TABLE, table)):
        name = _text(found[nft.RULE_CHAIN])
        chains.setdefault(name, []).append(_comment(found.get(nft.RULE_USERDATA, b"")))
    memories: dict[str, int] = {}
    elements: dict[Element, str] = {}
    for found in kernel.dump(nft.GETSET, family, nft.text(nft.SET_TABLE, table)):
        name = _text(found[nft.SET_NAME])
        if name.startswith(MEMORY):
            memories[name] = int.from_bytes(found.get(nft.SET_TIMEOUT, b""), "big") // 1000
        elif name in base_rules.SETS:
            for key, data in read_elements(kernel, family, table, name):
                elements[Element(name, key)] = _verdict(data)
    return TableState({name: tuple(each) for name, each in chains.items()}, elements, memories)


def read_elements(kernel: Kernel, family: str, table: str, name: str) -> list[tuple[bytes, dict[int, bytes]]]:
    """Return the elements of a set: each key, and the attributes of its data. Raises ``OSError``."""
    wanted = nft.text(nft.ELEMENTS_TABLE, table) + nft.text(nft.ELEMENTS_SET, name)
    found: list[tuple[bytes, dict[int, bytes]]] = []
    for part in kernel.dump(nft.GETSETELEM, family, wanted):
        for element in _listed(part.get(nft.ELEMENTS_LIST, b"")):
            key = parsed(element[nft.ELEMENT_KEY])[nft.DATA_VALUE]
            found.append((key, parsed(element.get(nft.ELEMENT_DATA, b""))))
    return found


def _listed(data: bytes) -> Iterable[dict[int, bytes]]:
    for _, payload in attributes(data):
        yield parsed(payload)


def _verdict(data: dict[int, bytes]) -> str:
    if nft.DATA_VERDICT not in data:
        return ""
    found = parsed(data[nft.DATA_VERDICT])
    return _text(found[nft.VERDICT_CHAIN]) if nft.VERDICT_CHAIN in found else DROP


def _comment(userdata: bytes) -> str:
    """Return the comment of a rule; empty without one."""
    return _text(userdata[2 : 2 + userdata[1]]) if len(userdata) > 2 and userdata[0] == 0 else ""


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="replace")
