"""The answers of CNI plugins: results of ADD, and errors. Pure.

Source: the CNI specification 1.0.0, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_interface
from typing import Any

import msgspec

Plain = dict[str, Any]

_MEANINGS: Mapping[int, str] = {
    1: "incompatible CNI version",
    2: "unsupported field in the network configuration",
    3: "the container is unknown or does not exist",
    4: "an environment variable is invalid",
    5: "input or output failed",
    6: "the network configuration cannot be decoded",
    7: "the network configuration is invalid",
    11: "try again later",
}


class ResultError(ValueError):
    """An answer that is no result."""


def parse_result(output: bytes) -> Plain:
    """Return the result of ADD. Raises ``ResultError``."""
    try:
        found = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultError(f"its result is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ResultError("its result is not a JSON object")
    return found


def addresses_of(result: Plain, interface: str) -> tuple[str, ...]:
    """Return the addresses of the pod's ``interface`` in a result, in order.

    Addresses of other interfaces (the node's ends of cables) do not count; those without one do. Raises
    ``ResultError``.
    """
    interfaces = result.get("interfaces") or []
    found = []
    for entry in result.get("ips") or []:
        try:
            address = str(ip_interface(entry["address"]).ip)
            index = entry.get("interface")
            owner = interfaces[index] if index is not None else {"name": interface, "sandbox": "-"}
            if owner.get("name") == interface and owner.get("sandbox"):
                found.append(address)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise ResultError(f"its result has a bad address: {entry}") from error
    if not found:
        raise ResultError(f"its result has no address of {interface}")
    return tuple(found)


def describe_failure(code: int, output: bytes, errors: str) -> str:
    """Return a plugin's error for people, from its exit code and what it wrote."""
    try:
        said = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = None
    if not isinstance(said, dict) or "code" not in said:
        return (output.decode(errors="replace").strip() or errors or f"exit code {code}")[:1000]
    number = said["code"]
    meaning = _MEANINGS.get(number, "") if isinstance(number, int) else ""
    parts = [said.get("msg") or meaning, said.get("details")]
    text = ": ".join(str(part) for part in parts if part)
    return f"{text} (CNI error {number}{f', {meaning}' if meaning and said.get('msg') else ''})"
