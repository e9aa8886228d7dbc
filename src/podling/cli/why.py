"""``podling why POD``: one paragraph on why a pod or a workload does not work, and what to do."""

from __future__ import annotations

import shutil
import sys
import textwrap
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec

from podling import clock
from podling.cli.cluster_time import in_cluster_time
from podling.cli.common_options import NoAnswer, data_directory_option, require_running
from podling.cli.evidence import Explanation, PartProblems, Source, time_since
from podling.client.base import Unreachable
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError

if TYPE_CHECKING:
    from podling.cli.workloads.extension_kinds import ExplainedKind

UNHEALTHY = 1


@click.command()
@click.argument("pod", metavar="POD")
@data_directory_option
@click.option("-n", "--namespace", default="default", show_default=True)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def why(pod: str, directory: DataDirectory, namespace: str, output: str) -> None:
    """Say why POD is not Running or not Ready, and what to do about it.

    POD is a pod's name, a workload such as deployment/web, whose pods may not even exist, a CronJob such
    as cronjob/tidy: why no run begins, a Service such as service/web: why it leads to no pod, an autoscaler
    such as hpa/web: why it does not scale, or a budget such as pdb/web: why no pod may be evicted.

    \b
    Exit codes: 0  nothing is wrong: Ready, or ended well
                1  something is, and the answer says what
                2  wrong usage
                3  no answer: no such object, or no cluster that answers
    """
    parts = _parts(directory, require_running(directory, NoAnswer))
    if parts.api:
        raise NoAnswer(f"the API server does not answer: {parts.api}")
    kind, _, name = pod.rpartition("/")
    kind, own = _kind(directory, kind or "pod")
    try:
        explanation, now = in_cluster_time(directory, _ask(directory, own or kind, name, namespace, parts))
    except (ApiError, Unreachable, OSError) as error:
        raise NoAnswer(str(error)) from error
    if output == "json":
        answer = {"kind": kind, "name": name, "namespace": namespace} | msgspec.to_builtins(explanation)
        click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        click.echo(_wrapped(paragraph(explanation, now)))
    raise SystemExit(0 if explanation.healthy else UNHEALTHY)


def paragraph(answer: Explanation, now: datetime) -> str:
    """Return the whole answer in one paragraph: what is the matter, what says so, what to do."""
    told = "; ".join(_told(source, now) for source in answer.evidence)
    seen = f"[{told}]" if told else ""
    return " ".join(filter(None, (answer.text, seen, answer.advice)))


def _told(source: Source, now: datetime) -> str:
    if source.kind == "event":
        times = f"x{source.count}, " if source.count > 1 else ""
        return f"event {source.name}, {times}{time_since(source.last, now)} ago"
    if source.kind == "condition":
        return f"condition {source.name}={source.detail.partition(' ')[0]}"
    if source.kind == "container":
        return f"status of {source.name}: {source.detail.partition(':')[0].partition(';')[0]}"
    return source.name


def _wrapped(text: str) -> str:
    """Broken between words on a terminal; one line where a program reads it."""
    if not sys.stdout.isatty():
        return text
    columns = min(shutil.get_terminal_size().columns, 110)
    return textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)


def _parts(directory: DataDirectory, pid: int) -> PartProblems:
    """Return what is wrong with the processes of the cluster that ``pid`` runs."""
    from podling.cli.explain_processes import part_problems
    from podling.cluster.processes.state_file import read_states
    from podling.cluster.processes.states import problem

    found = read_states(directory.path)
    if found is None or found.supervisor != pid:
        return PartProblems()
    now, wall = clock.monotonic(), clock.now()
    return part_problems(found, {each.part.name: problem(each, now, wall) for each in found.parts})


def _kind(directory: DataDirectory, text: str) -> tuple[str, ExplainedKind | None]:
    """Return the name of the kind, and the kind if it is one of the cluster's extensions."""
    from podling.cli.queries import resource_named

    entries = directory.settings().extensions
    if not entries:
        return resource_named(text).singular, None
    from podling.cli.workloads.extension_kinds import explained_kinds, kind_of
    from podling.extensions.loading import UnknownExtension, extensions_of

    try:
        extensions = extensions_of(entries)
    except UnknownExtension as error:
        raise NoAnswer(str(error)) from error
    own = kind_of(extensions, text) if "." in text else None  # deployments.apps is no kind of theirs
    if own is not None:
        return own.singular, own
    try:
        known = [each.names.kind for each in explained_kinds(extensions)]
        return resource_named(text, known).singular, None
    except NoAnswer:
        own = kind_of(extensions, text)
        if own is None:
            raise
        return own.singular, own


async def _ask(
    directory: DataDirectory, kind: str | ExplainedKind, name: str, namespace: str, parts: PartProblems
) -> Explanation:
    from podling.cli import queries
    from podling.client import kubeconfig
    from podling.client.http import HttpClient

    connection = kubeconfig.load(directory.kubeconfig)
    client = HttpClient.from_connection(connection)
    try:
        if isinstance(kind, str):
            return await queries.why(client, kind, name, namespace, parts, connection)
        from podling.cli.workloads.extension_kinds import why_extended

        return await why_extended(client, kind, name, namespace, parts)
    finally:
        await client.close()
