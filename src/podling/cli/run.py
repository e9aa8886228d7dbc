"""``podling run FILE...``: apply manifests and watch their pods come to life."""

from __future__ import annotations

import asyncio

import click

from podling.cli.common_options import Failure, data_directory_option, require_running
from podling.cli.follow import Follower, Verdict, Wanted, follow, verdict, wanted
from podling.cli.manifests import Manifest, apply, read
from podling.client.http import HttpClient
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError

FAILED, NOT_SETTLED = 1, 3
COLOURS = {"READY": "green", "SUCCEEDED": "green", "FAILED": "red", "WARNING": "yellow"}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@data_directory_option
@click.option("-n", "--namespace", default="default", show_default=True, help="For objects that name none.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds to follow the pods at most.")
def run(files: tuple[str, ...], directory: DataDirectory, namespace: str, timeout: float) -> None:
    """Apply manifests and follow their pods until each is Ready, Succeeded or Failed.

    Ready counts when it lasts: a pod that ends right after its start is followed to its end.

    \b
    Exit codes: 0  every pod is Ready or Succeeded
                1  one Failed or was deleted, or an object was refused
                2  wrong usage
                3  the time was not enough
    """
    require_running(directory)
    manifests = read(files, namespace)
    raise SystemExit(asyncio.run(_run(directory, manifests, timeout)))


async def _run(directory: DataDirectory, manifests: list[Manifest], timeout: float) -> int:
    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    client.on_warning(Warnings())
    try:
        wants = await _apply_all(client, manifests)
        if not wants:
            return 0
        follower = Follower(wants, _say)
        settled = await follow(client, follower, timeout)
        _show_table(follower)
        return _outcome(follower, settled, timeout)
    finally:
        await client.close()


class Warnings:
    """Shows each warning of the API server once, as kubectl does."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._shown:
            self._shown.add(text)
            click.echo(f"{click.style('Warning:', fg='yellow')} {text}", err=True)


def _outcome(follower: Follower, settled: bool, timeout: float) -> int:
    """Return the exit code; print a failure with the command that explains it."""
    failed = [key for key, pod in follower.pods.items() if verdict(pod) is Verdict.FAILED]
    waiting = [key for key, pod in follower.pods.items() if verdict(pod) is Verdict.UNSETTLED]
    for namespace, name in [*failed, *(() if settled else waiting)]:
        where = "" if namespace == "default" else f" -n {namespace}"
        click.echo(f"Why? podling why {name}{where}", err=True)
    if failed or follower.lost:
        return FAILED
    if not settled:
        click.echo(f"Not settled after {timeout:g} s.", err=True)
        return NOT_SETTLED
    return 0


async def _apply_all(client: HttpClient, manifests: list[Manifest]) -> list[Wanted]:
    wants = []
    for manifest in manifests:
        try:
            obj, outcome = await apply(client, manifest)
        except ApiError as error:
            raise Failure(f"{manifest.title}: {error}") from error
        click.echo(f"{manifest.title} {outcome}")
        want = wanted(manifest, obj)
        if want:
            wants.append(want)
    return wants


def _say(seconds: float, pod: str, text: str, tone: str) -> None:
    click.echo(f"{seconds:8.2f}s  {click.style(pod, bold=True)}  {click.style(text, fg=COLOURS.get(tone))}")


def _show_table(follower: Follower) -> None:
    """The followed pods as ``kubectl get pods -o wide`` would begin to show them."""
    from podling import clock
    from podling.apiserver.kinds.pod.pod_table import COLUMNS, row

    if not follower.pods:
        return
    now = clock.now()
    width = 7  # Name to Node
    lines = [[column.name.upper() for column in COLUMNS[:width]]]
    for key in sorted(follower.pods):
        lines.append([str(cell) for cell in row(follower.pods[key], now)[:width]])
    widths = [max(len(line[index]) for line in lines) for index in range(width)]
    click.echo()
    for line in lines:
        click.echo("   ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True)).rstrip())
