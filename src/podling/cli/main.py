"""The ``podling`` command: its subcommands by name, each imported only when it is called."""

from __future__ import annotations

import importlib

import click

import podling

COMMANDS = {
    "up": ("podling.cli.up", "up", "Start a cluster, or adopt the containers of one that was killed."),
    "join": ("podling.cli.join", "join", "Run a node of another machine's cluster on this one."),
    "leave": ("podling.cli.leave", "leave", "Take this machine's node out of its cluster."),
    "down": ("podling.cli.down", "down", "Stop the cluster and its containers."),
    "status": ("podling.cli.status", "status", "Show the cluster: process, nodes, pods."),
    "clock": ("podling.cli.clock", "clock", "Wind the clock of a simulated cluster."),
    "run": ("podling.cli.run", "run", "Apply manifests and follow their pods until they are settled."),
    "sim": ("podling.cli.simulation.sim", "sim", "Run a scenario in a cluster in memory, in virtual time."),
    "record": ("podling.cli.simulation.record", "record", "Write a cluster's history as a scenario."),
    "compare": ("podling.cli.simulation.compare", "compare", "Compare the lives of pods in two event logs."),
    "image": ("podling.cli.image", "image", "Load, pull, list and remove images."),
    "token": ("podling.cli.access", "token", "Make bearer tokens, and tokens with which nodes join."),
    "kubeconfig": ("podling.cli.access", "kubeconfig", "Print the administrator's kubeconfig."),
    "why": ("podling.cli.why", "why", "Say why a pod is not Running or not Ready, and what to do."),
    "timeline": ("podling.cli.timeline", "timeline", "Draw a pod's life, in the terminal or as SVG."),
    "test-server": (
        "podling.testing.server_command",
        "test_server",
        "Run a simulated cluster for tests, until standard input closes.",
    ),
    "envtest": (
        "podling.testing.envtest_command",
        "envtest",
        "Write kube-apiserver, etcd and kubectl for Go's envtest.",
    ),
    "doctor": (
        "podling.cli.doctor",
        "doctor",
        "Say what this machine can run, and what to do about the rest.",
    ),
}
"""Name -> module, attribute, help line. The help stands here so that listing imports nothing."""


class LazyGroup(click.Group):
    """A group whose commands are looked up in ``COMMANDS``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. An unusable data directory is one line of error in every command."""
        from podling.cli.common_options import Failure
        from podling.cluster.directory_errors import DirectoryUnusable

        try:
            return super().invoke(ctx)
        except DirectoryUnusable as error:
            raise Failure(str(error)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(podling.__version__, prog_name="podling")
def main() -> None:
    """Kubernetes' pods, nodes and the loops around them, whole, in Python.

    \b
    A first time:  podling up --detach
                   export KUBECONFIG=$(podling kubeconfig --path)
                   podling run FILE        a manifest, followed until its pods are settled
                   podling why POD         when one is not
                   podling down

    Every command takes --data-dir (or PODLING_DATA_DIR): it says which cluster is meant.
    """
