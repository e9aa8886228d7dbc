"""``PodNetwork`` by the machine's CNI plugins.

The configuration is read anew for each pod, so that a network can be installed and changed while the node
runs; each pod's is kept with its result until the pod ends, since the plugins that made its network must undo
it. Source: the CNI specification 1.0.0, section 3 and 4.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from podling.network.cni import plugins
from podling.network.cni.configuration import (
    Configuration,
    ConfigurationError,
    Plain,
    choose_file,
    parse,
    request,
)
from podling.network.cni.plugins import BIN_DIRECTORIES, Attachment
from podling.network.cni.results import ResultError, addresses_of, parse_result
from podling.network.netlink import interfaces, links
from podling.network.netlink.connection import Netlink
from podling.runtime.base import PortMapping, RuntimeFailure, SandboxSpec
from podling.runtime.oci import linux
from podling.runtime.oci.threads import in_thread, wait_for_end

INTERFACE = "eth0"


class CachedResult(Struct, frozen=True, kw_only=True):
    """A pod's network, as the plugins made it."""

    configuration: Configuration
    attachment: Attachment
    ports: tuple[PortMapping, ...] = ()
    result: Plain | None = None
    """The result of ADD; None while it is unknown whether the plugins came to their end."""


class CniNetwork:
    """The network of one node's pods.

    Args:
        state: results of the plugins; outlives the process.
        directory: the configurations (``--cni-conf-dir``).
        programs: where the plugins are.
    """

    def __init__(self, state: Path, directory: Path, programs: Sequence[Path] = BIN_DIRECTORIES) -> None:
        self._state = state / "cni"
        self._directory = directory
        self._programs = programs
        self._locks: dict[str, asyncio.Lock] = {}

    async def start(self) -> None:
        """Make the directory of results. A missing configuration is the status', not an error."""
        try:
            self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise RuntimeFailure(f"{self._state} cannot be made: {error}") from error

    async def close(self) -> None:
        """Leave everything as it is, for the pods that run on."""

    async def status(self) -> str:
        try:
            configuration = await in_thread(self._configuration)
            for kind in configuration.types:
                plugins.find_program(kind, self._programs)
        except RuntimeFailure as error:
            return str(error)
        return ""

    def _configuration(self) -> Configuration:
        """Return the configuration that counts now. Raises ``RuntimeFailure``."""
        try:
            name = choose_file(os.listdir(self._directory))
            if not name:
                raise RuntimeFailure(f"there is no CNI configuration in {self._directory}")
            return parse(name, (self._directory / name).read_bytes())
        except ConfigurationError as error:
            raise RuntimeFailure(
                f"the CNI configuration in {self._directory} is unusable: {error}"
            ) from error
        except OSError as error:
            raise RuntimeFailure(f"the CNI configuration cannot be read: {error}") from error

    # ---- pods

    async def attach(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        async with self._locks.setdefault(sandbox_id, asyncio.Lock()):
            before = self._cached(sandbox_id)
            if before is not None and before.result is not None and await self._is_whole(before):
                return self._addresses(before.result)
            if before is not None:
                await self._undo(before)
            return await self._add(sandbox_id, namespace, spec)

    async def _add(self, sandbox_id: str, namespace: Path, spec: SandboxSpec) -> tuple[str, ...]:
        configuration = await in_thread(self._configuration)
        if spec.port_mappings and not configuration.maps_ports:
            raise RuntimeFailure(
                f"the pod has host ports, but no plugin of the CNI network {configuration.name} has the "
                "capability portMappings"
            )
        cached = CachedResult(
            configuration=configuration,
            attachment=Attachment(
                container=sandbox_id,
                namespace=str(namespace),
                interface=INTERFACE,
                arguments=_arguments(spec),
            ),
            ports=spec.port_mappings,
        )
        self._keep(sandbox_id, cached)
        try:
            await in_thread(lambda: _set_loopback_up(namespace), undo=wait_for_end)
            result: Plain | None = None
            for plugin in configuration.plugins:
                given = request(configuration, plugin, result, cached.ports)
                result = self._result(
                    plugin["type"],
                    await plugins.call("ADD", plugin["type"], given, cached.attachment, self._programs),
                )
            assert result is not None, "a configuration has a plugin"
            addresses = self._addresses(result)
        except (OSError, RuntimeFailure) as error:
            # The specification wants DEL after a failed ADD; the file stays if that fails, too.
            with suppress(RuntimeFailure):
                await self._undo(cached)
            raise RuntimeFailure(f"the pod's network cannot be made: {error}") from error
        self._keep(sandbox_id, msgspec.structs.replace(cached, result=result))
        return addresses

    async def _is_whole(self, cached: CachedResult) -> bool:
        """Return whether the plugins say that the pod's network is as they made it (CHECK)."""
        configuration = cached.configuration
        if not configuration.can_check:
            return True
        try:
            for plugin in configuration.plugins:
                given = request(configuration, plugin, cached.result, cached.ports)
                await plugins.call("CHECK", plugin["type"], given, cached.attachment, self._programs)
        except RuntimeFailure:
            return False
        return True

    async def detach(self, sandbox_id: str, namespace: Path) -> None:
        async with self._locks.setdefault(sandbox_id, asyncio.Lock()):
            cached = self._cached(sandbox_id)
            if cached is not None:
                await self._undo(cached)
        self._locks.pop(sandbox_id, None)

    async def _undo(self, cached: CachedResult) -> None:
        """Call the plugins with DEL, the last one first. Raises ``RuntimeFailure``; then it can be repeated.

        A namespace that is gone (a reboot) is not named: plugins then free only addresses and rules.
        """
        configuration, attachment = cached.configuration, cached.attachment
        if not await in_thread(lambda: os.path.exists(attachment.namespace)):
            attachment = msgspec.structs.replace(attachment, namespace="")
        for plugin in reversed(configuration.plugins):
            given = request(configuration, plugin, cached.result, cached.ports)
            await plugins.call("DEL", plugin["type"], given, attachment, self._programs)
        self._file(cached.attachment.container).unlink(missing_ok=True)

    async def remove(self) -> None:
        """Undo the networks of all pods that are left: ``podling down``. Raises ``RuntimeFailure``."""
        if not self._state.is_dir():
            return
        for file in sorted(self._state.iterdir()):
            if file.name.startswith("."):
                continue  # cut off while it was written: the plugins had not been called
            if (cached := self._cached(file.name)) is not None:
                await self._undo(cached)

    # ---- results

    def _file(self, sandbox_id: str) -> Path:
        return self._state / sandbox_id

    def _keep(self, sandbox_id: str, cached: CachedResult) -> None:
        """Write the result into its file, which is whole at any moment. Raises ``RuntimeFailure``."""
        file = self._file(sandbox_id)
        fresh = file.with_name(f".{file.name}")
        try:
            self._state.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_bytes(msgspec.json.encode(cached))
            fresh.replace(file)
        except OSError as error:
            raise RuntimeFailure(f"the pod's network cannot be recorded: {error}") from error

    def _cached(self, sandbox_id: str) -> CachedResult | None:
        try:
            return msgspec.json.decode(self._file(sandbox_id).read_bytes(), type=CachedResult)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise RuntimeFailure(f"the record of the pod's network cannot be read: {error}") from error

    @staticmethod
    def _result(kind: str, output: bytes) -> Plain:
        try:
            return parse_result(output)
        except ResultError as error:
            raise RuntimeFailure(f"the CNI plugin {kind} failed on ADD: {error}") from error

    @staticmethod
    def _addresses(result: Plain) -> tuple[str, ...]:
        try:
            return addresses_of(result, INTERFACE)
        except ResultError as error:
            raise RuntimeFailure(f"the CNI network gave the pod no address: {error}") from error


def _arguments(spec: SandboxSpec) -> str:
    """Return ``CNI_ARGS`` with the names that plugins of Kubernetes know."""
    named = {
        "IgnoreUnknown": "1",
        "K8S_POD_NAMESPACE": spec.pod_namespace,
        "K8S_POD_NAME": spec.pod_name,
        "K8S_POD_UID": spec.pod_uid,
    }
    return ";".join(f"{name}={value}" for name, value in named.items())


def _set_loopback_up(namespace: Path) -> None:
    """Bring a pod's loopback up. The calling thread ends up inside the namespace."""
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        linux.setns(descriptor, linux.CLONE_NEWNET)
    finally:
        os.close(descriptor)
    with Netlink() as kernel:
        kernel.request([links.set_up(interfaces.index_of("lo"))])
