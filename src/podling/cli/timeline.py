"""``podling timeline POD``: a pod's life as a chart, in the terminal or as SVG."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import click
import msgspec

from podling import clock
from podling.cli import timeline_model
from podling.cli.options import Failure, data_directory_option, require_running
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError


@click.command()
@click.argument("pod")
@data_directory_option
@click.option("-n", "--namespace", default="default", show_default=True)
@click.option("--svg", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Write an SVG file.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def timeline(pod: str, directory: DataDirectory, namespace: str, picture: Path | None, output: str) -> None:
    """Draw POD's life: scheduling, pulls, runs, back-offs, readiness, and what the cluster said of it."""
    require_running(directory)
    try:
        drawn = asyncio.run(_draw(directory, namespace, pod.removeprefix("pod/")))
    except ApiError as error:
        raise Failure(str(error)) from error
    if picture is not None:
        from podling.cli.timeline_svg import svg

        picture.write_text(svg(drawn))
        click.echo(f"Wrote {picture}")
    elif output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(drawn), indent=2).decode())
    else:
        from podling.cli.timeline_text import lines

        for line in lines(drawn, shutil.get_terminal_size((100, 24)).columns):
            click.echo(line)


async def _draw(directory: DataDirectory, namespace: str, name: str) -> timeline_model.Timeline:
    from podling.api.core_v1 import Pod
    from podling.cli.records import events_of
    from podling.client.http import HttpClient

    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        pod = await client.get(Pod, name, namespace)
        return timeline_model.timeline(pod, await events_of(client, pod), clock.now())
    finally:
        await client.close()
