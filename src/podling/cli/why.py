"""``podling why POD``: one paragraph on why a pod or a workload does not work, and what to do."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from podling import clock
from podling.cli.cluster_time import in_cluster_time
from podling.cli.common_options import NoAnswer, data_directory_option, require_running
from podling.cli.evidence import Explanation, PartProblems, Source, time_since
from podling.client.base import Unreachable
from podling.cluster.directory import DataDirectory
from podling.machinery.errors import ApiError
from podling.machinery.resource import Resource

if TYPE_CHECKING:
    from podling.cli.workloads.extension_kinds import ExplainedKind
    from podling.client.base import Client
    from podling.client.kubeconfig import Connection
    from podling.extensions.extension import Extension

UNHEALTHY = 1


class WantedKind(Struct, frozen=True):
    """The kind of a query: built-in or an extension's, and the cluster's extensions.

    ``only_notes``: nothing but the notes of extensions is known about objects of the kind.
    """

    kind: Resource | ExplainedKind
    extensions: Sequence[Extension] = ()
    only_notes: bool = False

    @property
    def singular(self) -> str:
        return self.kind.singular


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
    wanted = _kind(directory, kind or "pod")
    try:
        explanation, now = in_cluster_time(directory, _ask(directory, wanted, name, namespace, parts))
    except (ApiError, Unreachable, OSError) as error:
        raise NoAnswer(str(error)) from error
    if output == "json":
        answer = {"kind": wanted.singular, "name": name, "namespace": namespace} | msgspec.to_builtins(
            explanation
        )
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


def _kind(directory: DataDirectory, text: str) -> WantedKind:
    """Return the wanted kind: a built-in one, or one of the cluster's extensions."""
    from podling.cli.queries import resource_named

    entries = directory.settings().extensions
    if not entries:
        return WantedKind(resource_named(text))
    from podling.cli.workloads.extension_kinds import explained_kinds, kind_of
    from podling.cli.workloads.extension_notes import noted_resource
    from podling.extensions.loading import UnknownExtension, extensions_of

    try:
        extensions = extensions_of(entries)
    except UnknownExtension as error:
        raise NoAnswer(str(error)) from error
    own = kind_of(extensions, text) if "." in text else None  # deployments.apps is no kind of theirs
    if own is not None:
        return WantedKind(own, extensions)
    try:
        known = [each.names.kind for each in explained_kinds(extensions)]
        return WantedKind(resource_named(text, known), extensions)
    except NoAnswer:
        found = kind_of(extensions, text)
        if found is not None:
            return WantedKind(found, extensions)
        resource = noted_resource(extensions, text)
        if resource is None:
            raise
        return WantedKind(resource, extensions, only_notes=True)


async def _ask(
    directory: DataDirectory, wanted: WantedKind, name: str, namespace: str, parts: PartProblems
) -> Explanation:
    from podling.client import kubeconfig
    from podling.client.http import HttpClient

    connection = kubeconfig.load(directory.kubeconfig)
    client = HttpClient.from_connection(connection)
    try:
        return await answer_of(client, wanted, name, namespace, parts, connection)
    finally:
        await client.close()


async def answer_of(
    client: Client,
    wanted: WantedKind,
    name: str,
    namespace: str,
    parts: PartProblems,
    connection: Connection | None = None,
) -> Explanation:
    """Return the answer, with the notes of extensions. Raises ``NoAnswer``, ``ApiError``."""
    from podling.cli import queries

    kind, extensions = wanted.kind, wanted.extensions
    if not extensions:
        return await queries.why(client, wanted.singular, name, namespace, parts, connection)
    from podling.cli.workloads.extension_notes import annotators_of, why_noted, with_notes

    if isinstance(kind, Resource):
        if wanted.only_notes:
            return await why_noted(client, extensions, kind, name, namespace)
        full_name = kind.group_resource
        found = await queries.why(client, wanted.singular, name, namespace, parts, connection)
    else:
        from podling.cli.workloads.extension_kinds import why_extended

        full_name = f"{kind.names.plural}.{kind.group}"
        found = await why_extended(client, kind, name, namespace, parts)
    return await with_notes(client, annotators_of(extensions, full_name), name, namespace, found)
