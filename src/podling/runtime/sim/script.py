"""Scripts of simulated containers, as plain data.

A script reaches a container in one of two ways, the first found wins:

* the annotation ``sim.podling.dev/<container>`` on the container or its pod, holding a
  ``ContainerScript`` as JSON (``sim.podling.dev/Pod`` holds the pod's ``PodScript``; no container can
  be called so, because container names have no capitals);
* the ``Scenario`` that the runtime was made with, by patterns over ``namespace/pod/container``.

With no script a container starts at once, runs until it is stopped, passes every probe and
ends every ``exec`` with exit code 0. The JSON field names are those below in camel case:

    sim.podling.dev/app: '{"startSeconds": 2, "runs": [{"seconds": 30, "exitCode": 1}, {}]}'

starts after 2 s, fails after 30 s in its first attempt and runs for ever from the second one on.
An unknown field is an error, shown as the failure to create the container.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from podling.runtime.base import RuntimeFailure

ANNOTATION_PREFIX = "sim.podling.dev/"
POD_ANNOTATION = ANNOTATION_PREFIX + "Pod"


class Script(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all scripts: frozen, camel case on the wire, no unknown fields."""


class Run(Script, frozen=True, kw_only=True):
    """One attempt's life. ``seconds`` of ``None`` is for ever."""

    seconds: float | None = None
    exit_code: int = 0
    out_of_memory: bool = False
    """Ends killed by the kernel: exit code 137, reason ``OOMKilled``."""
    message: str = ""


class ExecScript(Script, frozen=True, kw_only=True):
    """The answer to ``exec``. ``command`` is the whole command line joined by blanks, or its start;
    empty matches all. It holds from ``after`` seconds into the container's run."""

    command: str = ""
    after: float = 0
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    seconds: float = 0
    """Seconds that it runs after its output."""
    echo: bool = False
    """Gives back what it reads on stdin, as ``cat`` does, before all else."""


class ProbeScript(Script, frozen=True, kw_only=True):
    """The answer to a probe over the network, from ``after`` seconds into the container's run.

    ``kind`` is ``http``, ``tcp`` or ``grpc``; ``target`` the start of the probed target (``8080/healthz``,
    ``8080``, ``8080/service``). Empty matches all.
    """

    kind: str = ""
    target: str = ""
    after: float = 0
    success: bool = True
    output: str = ""
    seconds: float = 0
    """Seconds until the answer; the prober's timeout may come first."""


class LogScript(Script, frozen=True, kw_only=True):
    """A line written ``after`` seconds into the run, then ``every`` so many seconds (0: once)."""

    text: str
    after: float = 0
    every: float = 0
    stream: str = "stdout"


class PortScript(Script, frozen=True, kw_only=True):
    """The response of a port to a forwarded connection: its ``reply``, or an echo of each chunk."""

    port: int
    reply: str = ""
    echo: bool = False


class Usage(Script, frozen=True, kw_only=True):
    """Use of the machine from ``after`` seconds into the run."""

    after: float = 0
    cpu_millicores: int = 0
    memory_bytes: int = 0


class ContainerScript(Script, frozen=True, kw_only=True):
    """Everything one container does. ``runs`` holds one life per attempt; the last one repeats."""

    create_error: str = ""
    """The text with which ``create_container`` fails."""
    start_seconds: float = 0
    start_error: str = ""
    """The text with which ``start_container`` fails, leaving exit code ``start_error_code``."""
    start_error_code: int = 128
    runs: tuple[Run, ...] = (Run(),)
    ignores_signals: bool = False
    """Goes on through every signal but SIGKILL."""
    stop_seconds: float = 0
    """Time from the signal to the exit."""
    stop_exit_code: int | None = None
    """The exit code after a signal; 128 + signal when absent."""
    remove_seconds: float = 0
    resize_seconds: float = 0
    """Seconds until new limits take effect."""
    exec: tuple[ExecScript, ...] = ()
    probes: tuple[ProbeScript, ...] = ()
    logs: tuple[LogScript, ...] = ()
    ports: tuple[PortScript, ...] = ()
    usage: tuple[Usage, ...] = ()
    echo: bool = False
    """Gives back what comes in by ``attach``, as ``cat`` does, and ends with it."""

    def run_for(self, attempt: int) -> Run:
        return self.runs[min(attempt, len(self.runs) - 1)] if self.runs else Run()

    def answer_exec(self, command: Sequence[str], age: float) -> ExecScript:
        """Return the result of ``exec`` at ``age`` seconds of the run: the latest match by then."""
        line = " ".join(command)
        matching = [item for item in self.exec if line.startswith(item.command) and item.after <= age]
        return max(matching, key=lambda item: item.after, default=ExecScript())

    def answer_probe(self, kind: str, target: str, age: float) -> ProbeScript:
        matching = [
            item
            for item in self.probes
            if item.kind in ("", kind) and target.startswith(item.target) and item.after <= age
        ]
        return max(matching, key=lambda item: item.after, default=ProbeScript())

    def cpu_nanoseconds(self, age: float) -> int:
        """CPU time used in the first ``age`` seconds of the run."""
        steps = sorted(self.usage, key=lambda item: item.after)
        ends = [*(item.after for item in steps), age][1:]
        used = sum(
            item.cpu_millicores * max(0.0, min(end, age) - item.after)
            for item, end in zip(steps, ends, strict=True)
        )
        return int(used * 1_000_000)

    def memory_bytes(self, age: float) -> int:
        holding = [item for item in self.usage if item.after <= age]
        return max(holding, key=lambda item: item.after).memory_bytes if holding else 0


class PodScript(Script, frozen=True, kw_only=True):
    """The script of the pod's sandbox."""

    sandbox_seconds: float = 0
    sandbox_error: str = ""
    """The text with which ``run_sandbox`` fails."""
    sandbox_failures: int | None = None
    """The number of failures before it succeeds; ``None``: always, if there is a text."""
    sandbox_stop_seconds: float = 0
    """Seconds to stop the sandbox once its containers have ended."""


class PullFailure(Script, frozen=True, kw_only=True):
    message: str
    reason: str = "ErrImagePull"


class ImageScript(Script, frozen=True, kw_only=True):
    """An image in the simulated registry."""

    present: bool = False
    """Already on the node."""
    missing: bool = False
    """Not in the registry: every pull fails."""
    pull_seconds: float = 0
    failures: tuple[PullFailure, ...] = ()
    """The errors of the first pulls, one by one."""
    size_bytes: int = 10_000_000
    user: str = ""
    stop_signal: str = ""
    volumes: tuple[str, ...] = ()


T = TypeVar("T", bound=Script)


class Scenario(Struct, frozen=True, kw_only=True):
    """Scripts by pattern (``*`` and ``?``, case counts); the first matching pattern wins.

    ``containers`` is keyed by ``namespace/pod/container``, ``pods`` by ``namespace/pod``, ``images`` by
    the image's full name (``docker.io/library/busybox:1.28``).
    """

    containers: Mapping[str, ContainerScript] = field(default_factory=dict)
    pods: Mapping[str, PodScript] = field(default_factory=dict)
    images: Mapping[str, ImageScript] = field(default_factory=dict)

    def container(self, namespace: str, pod: str, name: str) -> ContainerScript | None:
        return _first(self.containers, f"{namespace}/{pod}/{name}")

    def pod(self, namespace: str, pod: str) -> PodScript | None:
        return _first(self.pods, f"{namespace}/{pod}")

    def image(self, name: str) -> ImageScript:
        return _first(self.images, name) or ImageScript()


def _first(scripts: Mapping[str, T], name: str) -> T | None:
    return next((script for pattern, script in scripts.items() if fnmatchcase(name, pattern)), None)


def annotated(kind: type[T], key: str, *annotations: Mapping[str, str]) -> T | None:
    """The script under ``key`` in the first map that has it. Raises ``RuntimeFailure`` if unreadable."""
    text = next((items[key] for items in annotations if key in items), None)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise RuntimeFailure(f"annotation {key} cannot be read: {error}") from error


def annotation(script: ContainerScript | PodScript) -> str:
    """``script`` as the text of an annotation; what is at its default is left out."""
    plain: dict[str, object] = msgspec.to_builtins(script)
    default: dict[str, object] = msgspec.to_builtins(type(script)())
    return msgspec.json.encode({name: item for name, item in plain.items() if default[name] != item}).decode()
