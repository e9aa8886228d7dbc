"""Network configurations of CNI: which file counts, what it says, and what each plugin is given. Pure.

Source: the CNI specification 1.0.0, sections 1 and 3, and libcni's choice of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct

from podling.runtime.base import PortMapping

SUFFIXES = (".conflist", ".conf", ".json")
VERSIONS = ("0.3.0", "0.3.1", "0.4.0", "1.0.0")
"""The versions whose results we understand; CHECK exists since 0.4.0."""
_WITHOUT_CHECK = ("0.3.0", "0.3.1")
PORT_MAPPINGS = "portMappings"

Plain = dict[str, Any]


class ConfigurationError(ValueError):
    """A configuration that cannot be used; the text names the file and the reason."""


class Configuration(Struct, frozen=True, kw_only=True):
    """A list of plugins, called in order."""

    name: str
    version: str
    plugins: tuple[Plain, ...]
    disable_check: bool = False

    @property
    def can_check(self) -> bool:
        return self.version not in _WITHOUT_CHECK and not self.disable_check

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the plugins' programs."""
        return tuple(plugin["type"] for plugin in self.plugins)

    @property
    def maps_ports(self) -> bool:
        """Return whether a plugin can lead host ports to pods."""
        return any(PORT_MAPPINGS in capabilities_of(plugin) for plugin in self.plugins)


def capabilities_of(plugin: Plain) -> tuple[str, ...]:
    """Return the capabilities that a plugin's configuration switches on."""
    found = plugin.get("capabilities")
    return tuple(name for name, on in found.items() if on is True) if isinstance(found, Mapping) else ()


def choose_file(names: Iterable[str]) -> str:
    """Return the file that counts: the first by name with a known suffix; empty without one."""
    return min((name for name in names if PurePath(name).suffix in SUFFIXES), default="")


def parse(name: str, text: str | bytes) -> Configuration:
    """Return what a file says: a list of plugins, or one plugin. Raises ``ConfigurationError``."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{name} is not a JSON object")
    is_list = PurePath(name).suffix == ".conflist"
    plugins = found.get("plugins") if is_list else [found]
    network = found.get("name")
    if not isinstance(network, str) or not network:
        raise ConfigurationError(f"{name} has no name of a network")
    version = found.get("cniVersion")
    if version not in VERSIONS:
        said = f'"{version}"' if version else "missing"
        raise ConfigurationError(f"{name}: cniVersion is {said}; known are {', '.join(VERSIONS)}")
    if not isinstance(plugins, list) or not plugins:
        raise ConfigurationError(f"{name} has no plugins")
    for plugin in plugins:
        kind = plugin.get("type") if isinstance(plugin, dict) else None
        if not isinstance(kind, str) or not kind:
            raise ConfigurationError(f"{name} has a plugin without a type")
        if "/" in kind or kind in (".", ".."):
            raise ConfigurationError(f"{name}: the plugin type {kind!r} is no name of a program")
    return Configuration(
        name=network,
        version=str(version),
        plugins=tuple(plugins),
        disable_check=found.get("disableCheck") in (True, "true"),
    )


def request(
    configuration: Configuration, plugin: Plain, previous: Plain | None, ports: Sequence[PortMapping]
) -> Plain:
    """Return what a plugin reads on its standard input.

    Its own configuration, with the list's name and version, the result so far, and the values of the
    capabilities that it has switched on.
    """
    given = {key: value for key, value in plugin.items() if key != "capabilities"}
    given |= {"name": configuration.name, "cniVersion": configuration.version}
    if ports and PORT_MAPPINGS in capabilities_of(plugin):
        given["runtimeConfig"] = {PORT_MAPPINGS: [_mapping(port) for port in ports]}
    if previous is not None:
        given["prevResult"] = previous
    return given


def _mapping(port: PortMapping) -> Plain:
    found: Plain = {
        "hostPort": port.host_port,
        "containerPort": port.container_port,
        "protocol": port.protocol.lower(),
    }
    return {**found, "hostIP": port.host_ip} if port.host_ip else found
