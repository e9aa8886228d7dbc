"""Machines for tests: network namespaces joined by a switch, each with a host name, mounts and processes of
its own.

A machine shares the kernel, the disk below ``/tmp`` and the cgroups with this machine (cgroups carry the
name of the cluster). Its own are: interfaces, addresses, routes and nftables rules; ``/run``,
``/var/lib/podling``, ``/sys`` and ``/proc``; the host name; the numbers of its processes; the boot id. So
``podling up`` runs in one as on a machine of its own. ``Machine.restart`` keeps its disk below ``/tmp`` only.

Each machine is a process that holds its namespaces and waits for the end of its standard input, as the
first process of its process namespace. When the test ends, also by SIGKILL, that input ends; the kernel then
kills every process of the machine, and its namespaces vanish with all that they contain.

The switch is a bridge in a namespace of its own. It has the last address of the network, and the machines
have their default routes over it; it forwards nothing elsewhere.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

from tests.support.clusters import PODLING, Done, RealCluster, command

NETWORK = IPv4Network("192.168.177.0/24")
NETWORK6 = IPv6Network("fd77:0:0:177::/64")
INTERFACE = "eth0"
TOOLS = ("ip", "nft", "nsenter", "unshare")

_IGNORE_CHILDREN = "trap '' CHLD"
"""The kernel removes the ended children of a process that ignores SIGCHLD: nothing else would."""

_MOUNTS = """
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/cgroup /var/lib/podling
mount -t tmpfs -o mode=755 tmpfs /var/lib/podling
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
umount -l /run/cgroup
rmdir /run/cgroup
"""

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def missing() -> str:
    """Return the reason why no machines can be built here; empty when they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    absent = [tool for tool in TOOLS if not any(Path(folder, tool).exists() for folder in path.split(":"))]
    return f"needs {', '.join(absent)}" if absent else ""


class Namespaces:
    """A process that holds namespaces of its own, and everything that runs in them."""

    def __init__(self, options: Sequence[str], preparation: str) -> None:
        script = f"set -e\n{preparation}\n{_IGNORE_CHILDREN}\necho ready\nexec cat >/dev/null"
        self._process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--mount-proc", "--net", *options, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        with self._process.stdout as said:
            if said.readline() != "ready\n":
                self.close()
                raise RuntimeError(f"the namespaces cannot be made: {preparation}")
        (self.pid,) = _children(self._process.pid)

    def enter(self, *arguments: str) -> list[str]:
        """Return the command line that runs ``arguments`` in the namespaces.

        Their working directory is ``/``, so paths must be absolute.
        """
        return ["nsenter", f"--target={self.pid}", "--net", "--mount", "--uts", "--pid", "--", *arguments]

    def enter_network(self, *arguments: str) -> list[str]:
        """Return the command line that runs ``arguments`` on this machine, but with the network of these
        namespaces: it can name other processes' namespaces."""
        return ["nsenter", f"--target={self.pid}", "--net", "--", *arguments]

    def close(self) -> None:
        """Kill every process in the namespaces, and wait for their end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def processes(self) -> list[int]:
        """Return every process of these namespaces but the first, by their numbers on this machine."""
        found: list[int] = []
        ahead = [self.pid]
        while ahead:
            children = _children(ahead.pop())
            ahead += children
            found += children
        return found


def _children(process: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_text().split())
    return found


class Machine:
    """One machine. ``number`` counts from 1; ``directory`` is for its data, and visible to the test."""

    def __init__(self, number: int, directory: Path, mtu: int) -> None:
        self.number = number
        self.name = f"machine-{number}"
        self.address: IPv4Address = NETWORK[number]
        self.address6: IPv6Address = NETWORK6[number]
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.mtu = mtu
        self._boots = 0
        self._hardware_address = f"02:00:00:00:b0:{number:02x}"
        self._namespaces = self._boot()

    def _boot(self) -> Namespaces:
        """Start the machine, with another boot id than before."""
        self._boots += 1
        boot = f"00000000-0000-4000-8000-{self.number:04x}{self._boots:08x}"
        identity = f"echo {boot} >/run/boot_id\nmount --bind /run/boot_id {_BOOT_ID}\nhostname {self.name}"
        return Namespaces(("--mount", "--uts"), f"{_MOUNTS}\n{identity}")

    def restart(self, switch: Namespaces) -> None:
        """Lose all processes, mounts, interfaces and rules at once, as in a power failure; then boot."""
        self.close()
        command(switch.enter_network("ip", "link", "delete", port_of(self)))  # the kernel does it, but later
        self._namespaces = self._boot()
        self.connect(switch)

    @property
    def pid(self) -> int:
        """The process that holds the namespaces, by its number on this machine."""
        return self._namespaces.pid

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that runs ``arguments`` in the machine, for tests that start it."""
        return self._namespaces.enter(*arguments)

    def try_run(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> Done:
        """Run a command in the machine to its end; never raises for a bad exit code."""
        return command(self.command(*arguments), stdin=stdin, timeout=timeout)

    def run(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> str:
        """Return a command's output; the test fails if the command does."""
        done = self.try_run(*arguments, stdin=stdin, timeout=timeout)
        assert done.code == 0, f"{self.name}: {shlex.join(arguments)}: {done.out}{done.err}"
        return done.out

    def python(self, file: str, *arguments: str, timeout: float = 120) -> str:
        """Run a Python program of the tests in the machine; return its output."""
        path = os.pathsep.join(sys.path)
        return self.run("env", f"PYTHONPATH={path}", sys.executable, file, *arguments, timeout=timeout)

    def connect(self, switch: Namespaces) -> None:
        """Plug the machine into the switch, give it its addresses and routes over it."""
        port = port_of(self)
        _must(
            switch.enter_network("ip", "-batch", "-"),
            f"link add {port} mtu {self.mtu} type veth "
            f"peer name {INTERFACE} address {self._hardware_address} mtu {self.mtu} netns {self.pid}\n"
            f"link set {port} master switch up\n",
        )
        self.run(
            "ip",
            "-batch",
            "-",
            stdin=f"link set lo up\nlink set {INTERFACE} up\n"
            f"addr add {self.address}/{NETWORK.prefixlen} dev {INTERFACE}\n"
            f"addr add {self.address6}/{NETWORK6.prefixlen} dev {INTERFACE} nodad\n"
            f"route add default via {NETWORK[-2]}\nroute add default via {NETWORK6[-2]}\n",
        )

    def outside(self, number: int) -> int:
        """Return a process' number on this machine from its ``number`` in the machine."""
        for process in self._namespaces.processes():
            with suppress(OSError):
                numbers = re.search(
                    r"^NSpid:(.*)$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE
                )
                if numbers and numbers[1].split()[1:] == [str(number)]:
                    return process
        raise ProcessLookupError(f"{self.name} has no process {number}")

    def close(self) -> None:
        """End the machine with all that runs in it, and remove the cgroups of its clusters."""
        cgroups: set[Path] = set()
        for process in self._namespaces.processes():
            with suppress(OSError):
                cgroups.update(_podling_cgroups(Path(f"/proc/{process}/cgroup").read_text()))
        self._namespaces.close()
        for top in cgroups:
            for folder, _, _ in os.walk(top, topdown=False):
                os.rmdir(folder)


def port_of(machine: Machine) -> str:
    """Return the name of the machine's port on the switch."""
    return f"port{machine.number}"


def _podling_cgroups(membership: str) -> Iterator[Path]:
    """Yield the top cgroups of Podling's nodes, in every hierarchy, that a process' memberships name."""
    for name in re.findall(r"^[^:]*:[^:]*:/(podling-[^/\n]+)", membership, re.MULTILINE):
        for root in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
            if (root / name).is_dir():
                yield root / name


@dataclass(frozen=True)
class _Cut:
    """Packets from one machine to another of which ``percent`` are lost."""

    source: str
    target: str
    percent: int

    def rule(self) -> str:
        chance = "" if self.percent >= 100 else f"numgen random mod 100 < {self.percent} "
        return f'iifname "{self.source}" oifname "{self.target}" {chance}counter drop'


class Machines:
    """Machines on one switch: ``machines[0]`` is the first."""

    def __init__(self, switch: Namespaces, members: Sequence[Machine]) -> None:
        self._switch = switch
        self._members = members
        self._cuts: frozenset[_Cut] = frozenset()

    def __getitem__(self, index: int) -> Machine:
        return self._members[index]

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def lose(self, one: Machine, other: Machine, percent: int, *, both_ways: bool = True) -> None:
        """Let the switch lose this share of the packets from ``one`` to ``other``, and back."""
        pairs = [(one, other), (other, one)] if both_ways else [(one, other)]
        for source, target in pairs:
            ends = (port_of(source), port_of(target))
            kept = {cut for cut in self._cuts if (cut.source, cut.target) != ends}
            self._cuts = frozenset(kept | ({_Cut(*ends, percent)} if percent else set()))
        self._write_rules()

    def cut(self, one: Machine, other: Machine, *, both_ways: bool = True) -> None:
        """Let no packet through between two machines, or only from ``one`` to ``other`` none."""
        self.lose(one, other, 100, both_ways=both_ways)

    def isolate(self, one: Machine) -> None:
        """Let no packet through between a machine and every other one."""
        for other in self:
            if other is not one:
                self.cut(one, other)

    def heal(self) -> None:
        """Let all packets through again."""
        self._cuts = frozenset()
        self._write_rules()

    def delay(self, machine: Machine, milliseconds: float) -> bool:
        """Delay every packet to ``machine``; 0 ends it. Return whether the kernel can (netem)."""
        base = ["tc", "qdisc"]
        device = ["dev", port_of(machine), "root"]
        if not milliseconds:
            return command(self._switch.enter_network(*base, "del", *device)).code == 0
        wish = [*base, "replace", *device, "netem", "delay", f"{milliseconds}ms"]
        return command(self._switch.enter_network(*wish)).code == 0

    def restart(self, machine: Machine) -> None:
        """Restart a machine, which has lost all but its disk."""
        machine.restart(self._switch)

    def on_switch(self, *arguments: str) -> str:
        """Run a command where the switch is; return its output."""
        return _must(self._switch.enter_network(*arguments))

    def _write_rules(self) -> None:
        rules = "\n".join(sorted(cut.rule() for cut in self._cuts))
        chain = f"chain forward {{ type filter hook forward priority 0; policy accept;\n{rules}\n}}"
        _must(
            self._switch.enter_network("nft", "-f", "-"),
            f"table bridge cuts {{}}\ndelete table bridge cuts\ntable bridge cuts {{\n{chain}\n}}\n",
        )


def _must(arguments: list[str], stdin: str | None = None) -> str:
    done = command(arguments, stdin=stdin)
    assert done.code == 0, f"{shlex.join(arguments)}: {stdin or ''}{done.out}{done.err}"
    return done.out


@contextmanager
def machines(count: int, directory: Path, *, mtu: int = 1500) -> Iterator[Machines]:
    """Build ``count`` machines, with their data below ``directory``; remove them at the end in any case."""
    with ExitStack() as stack:
        switch = Namespaces(("--mount",), "")
        stack.callback(switch.close)
        _must(
            switch.enter_network("ip", "-batch", "-"),
            "link set lo up\nlink add switch type bridge\nlink set switch up\n"
            f"addr add {NETWORK[-2]}/{NETWORK.prefixlen} dev switch\n"
            f"addr add {NETWORK6[-2]}/{NETWORK6.prefixlen} dev switch nodad\n",
        )
        members = []
        for number in range(1, count + 1):
            machine = Machine(number, directory / f"machine-{number}", mtu)
            stack.callback(machine.close)
            machine.connect(switch)
            members.append(machine)
        yield Machines(switch, members)


class MachineCluster(RealCluster):
    """A cluster whose first process runs in a machine; kubectl, too, runs there."""

    def __init__(self, machine: Machine, runtime: str = "oci", *options: str) -> None:
        super().__init__(machine.directory / "data", runtime, "--port", "0", *options)
        self.machine = machine

    def podling(self, *arguments: str, timeout: float = 120) -> Done:
        self.program = self.machine.command(*PODLING)  # another one after a restart of the machine
        return super().podling(*arguments, timeout=timeout)

    def kubectl_command(self, *arguments: str) -> list[str]:
        return self.machine.command(*super().kubectl_command(*arguments))

    @property
    def process(self) -> int:
        return self.machine.outside(self.pid)
