"""``podling timeline POD``: a pod's life as a Gantt chart, in the terminal or as SVG."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click
import msgspec

from podling import clock
from podling.cli import timeline_model
from podling.cli.cluster_time import in_cluster_time
from podling.cli.common_options import Failure, data_directory_option, require_running
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError, is_not_found

PIPED_COLUMNS = 120


@click.command()
@click.argument("pod", metavar="POD")
@data_directory_option
@click.option("-n", "--namespace", default="default", show_default=True)
@click.option("--svg", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Write an SVG file.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-a", "--all", "everything", is_flag=True, help="Tell every moment, not only the last ones.")
@click.option("--width", type=click.IntRange(20), help="Columns of the chart.  [default: the terminal's]")
def timeline(
    pod: str,
    directory: DataDirectory,
    namespace: str,
    picture: Path | None,
    output: str,
    everything: bool,
    width: int | None,
) -> None:
    """Draw POD's life: scheduling, pulls, runs and back-offs, readiness, probes, hooks and signals.

    A pod that was deleted can be drawn as long as its node, or an event, remembers it.

    Exit code: 0, 1 when nothing is known of such a pod, 2 for wrong usage.
    """
    name = pod.removeprefix("pod/")
    if "/" in name:
        raise click.BadParameter(f"{pod} is no pod; name one of its pods: kubectl get pods", param_hint="POD")
    require_running(directory)
    try:
        drawn, _ = in_cluster_time(directory, _draw(directory, namespace, name))
    except (ApiError, OSError) as error:
        raise Failure(str(error)) from error
    if picture is not None:
        from podling.cli.timeline_svg import svg

        try:
            picture.write_text(svg(drawn))
        except OSError as error:
            raise Failure(f"{picture}: {error.strerror}") from error
        click.echo(f"Wrote {picture}", err=output == "json")
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(drawn), indent=2).decode())
    elif picture is None:
        from podling.cli.timeline_text import lines

        screen = sys.stdout.isatty()
        columns = width or (shutil.get_terminal_size().columns if screen else PIPED_COLUMNS)
        for line in lines(drawn, columns, cut=screen, everything=everything):
            click.echo(line)


async def _draw(directory: DataDirectory, namespace: str, name: str) -> timeline_model.Timeline:
    from podling.api.core_v1 import Event, Pod
    from podling.cli import timeline_sources as sources
    from podling.cli.recorded_events import events_of
    from podling.client.http import HttpClient

    nodes = [directory.node(node) for node in directory.node_names()]
    now = clock.now()
    client = HttpClient.from_kubeconfig(directory.kubeconfig)
    try:
        try:
            pod = await client.get(Pod, name, namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise
            life = sources.recorded_life(nodes, pod=f"{namespace}/{name}")
            selector = f"involvedObject.name={name},involvedObject.kind=Pod"
            if life is not None:
                selector += f",involvedObject.uid={life[0].uid}"
            events = (await client.list(Event, namespace, field_selector=selector)).items
            subject = sources.departed(name, namespace, events, life)
            if subject is None:
                raise
            return timeline_model.timeline(subject, sources.told(None, events, life), now)
        found = await events_of(client, pod)
    finally:
        await client.close()
    life = sources.recorded_life(nodes, uid=pod.metadata.uid or "")
    return timeline_model.timeline(sources.subject_of(pod, now), sources.told(pod, found, life), now)
