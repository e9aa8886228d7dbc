"""``podling why POD``: one paragraph on why a pod is not Running or not Ready, and what to do."""

from __future__ import annotations

import asyncio

import click
import msgspec

from podling import clock
from podling.cli.evidence import Evidence, Explanation
from podling.cli.explain import explain
from podling.cli.options import Failure, data_directory_option, require_running
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError, is_not_found

UNHEALTHY = 1


@click.command()
@click.argument("pod")
@data_directory_option
@click.option("-n", "--namespace", default="default", show_default=True)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def why(pod: str, directory: DataDirectory, namespace: str, output: str) -> None:
    """Say why POD is not Running or not Ready, and what to do about it.

    Exit code: 0 when nothing is wrong, 1 when something is.
    """
    require_running(directory)
    try:
        explanation = asyncio.run(_explain(directory, namespace, pod.removeprefix("pod/")))
    except ApiError as error:
        raise Failure(str(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(explanation), indent=2).decode())
    else:
        click.echo(explanation.text)
        if explanation.advice:
            click.echo(f"→ {explanation.advice}")
    raise SystemExit(0 if explanation.healthy else UNHEALTHY)


async def _explain(directory: DataDirectory, namespace: str, name: str) -> Explanation:
    from podling.api.core_v1 import Node, Pod
    from podling.cli.records import events_of
    from podling.client.http import HttpClient

    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        pod = await client.get(Pod, name, namespace)
        events = await events_of(client, pod)
        node = None
        if pod.spec.node_name:
            try:
                node = await client.get(Node, pod.spec.node_name)
            except ApiError as error:
                if not is_not_found(error):
                    raise
    finally:
        await client.close()
    return explain(Evidence(pod, events, node, clock.now()))
