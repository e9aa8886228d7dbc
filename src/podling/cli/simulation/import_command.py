"""``podling sim import``: a scenario from a cluster's objects, an audit log or a published trace."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from podling.cli.common_options import Failure
from podling.cli.options.param_type import ParamType
from podling.machinery import quantity
from podling.sim.importing.from_alibaba import COLUMNS, scenario_from_alibaba
from podling.sim.importing.from_audit import API, scenario_from_audit
from podling.sim.importing.from_google import TABLES, scenario_from_google
from podling.sim.importing.from_objects import scenario_from_objects
from podling.sim.importing.sources import Imported, Unreadable, documents, json_lines
from podling.sim.importing.traces import Window
from podling.sim.scenario_file import ScenarioUnusable, read_scenario
from podling.sim.scenario_parts import Duration, duration_from

UNUSABLE = 2
FORMATS = ("objects", "audit", "alibaba", "google")


class _Unusable(Failure):
    """A source that cannot be read."""

    exit_code = UNUSABLE

    def show(self, file: object = None) -> None:
        click.echo(self.message, err=True)


class _Duration(ParamType[float]):
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return value if isinstance(value, Duration) else duration_from(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Quantity(ParamType[float]):
    name = "quantity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return quantity.parse(str(value)).milli_value / 1000
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="What the files are.  [default: by their names]"
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the scenario here."
)
@click.option("--begin", type=_Duration(), default="0", metavar="TIME", help="Of a trace: where to begin.")
@click.option(
    "--length",
    type=_Duration(),
    default="1h",
    show_default=True,
    metavar="TIME",
    help="Of a trace: how much of it.",
)
@click.option(
    "--machine-cpu",
    type=_Quantity(),
    default="64",
    show_default=True,
    help="The cores of a trace's largest machine.",
)
@click.option("--machine-memory", type=_Quantity(), default="256Gi", show_default=True, help="Its memory.")
def import_scenario(
    files: tuple[str, ...],
    kind: str | None,
    output: Path | None,
    begin: float,
    length: float,
    machine_cpu: float,
    machine_memory: float,
) -> None:
    """Make a scenario from another cluster: print it, or write it with -o.

    \b
    objects   kubectl get nodes,pods,deployments,... -A -o yaml | podling sim import -
    audit     an audit log of an API server (audit.k8s.io/v1, JSON lines)
    alibaba   machine_meta.csv, container_meta.csv, batch_task.csv of Alibaba's trace of 2018
    google    machine_events and task_events (2011, CSV) or instance_events (2019, JSON lines)

    Files may be compressed (.gz). Standard error says what the scenario does not show.
    """
    texts = [(name, _text(name)) for name in files]
    window = Window(begin, length, machine_cpu, machine_memory)
    try:
        made = _imported(kind or _kind_of(texts), texts, window)
        text = yaml.dump(
            made.scenario, Dumper=yaml.CSafeDumper, sort_keys=False, width=110, allow_unicode=True
        )
        read_scenario(text, "the scenario", Path())
    except (Unreadable, ScenarioUnusable) as error:
        raise _Unusable(str(error)) from None
    for note in made.notes:
        click.echo(note, err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise Failure(f"{output}: {error.strerror}") from None
    click.echo(f"wrote {output}; run it: podling sim {output}", err=True)


def _text(name: str) -> str:
    try:
        if name == "-":
            return sys.stdin.buffer.read().decode()
        data = Path(name).read_bytes()
        return (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    except UnicodeDecodeError as error:
        raise _Unusable(f"{name}:1:1: not UTF-8: {error.reason}") from None
    except (OSError, EOFError) as error:
        raise Failure(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def _kind_of(texts: Sequence[tuple[str, str]]) -> str:
    """Return the format of files, by their names and by how they begin."""
    for name, text in texts:
        if _table(name, COLUMNS):
            return "alibaba"
        if _table(name, TABLES):
            return "google"
        if API in text.partition("\n")[0]:
            return "audit"
    return "objects"


def _table(name: str, tables: Sequence[str] | dict[str, Any]) -> str:
    """Return the table that a file, or its folder, is named after; empty for none."""
    path = Path(name)
    return next((each for each in tables if path.name.startswith(each) or path.parent.name == each), "")


def _imported(kind: str, texts: Sequence[tuple[str, str]], window: Window) -> Imported:
    """Return the scenario of files of one format. Raises ``Unreadable``."""
    if kind == "objects":
        return scenario_from_objects([each for name, text in texts for each in documents(text, name)])
    if kind == "audit":
        name, text = texts[0][0], "\n".join(text for _, text in texts)
        return scenario_from_audit(json_lines(text, name), name)
    known = COLUMNS if kind == "alibaba" else TABLES
    for name, _ in texts:
        if not _table(name, known):
            raise Unreadable(name, 1, 1, f"the name is that of no table; there are: {', '.join(known)}")
    if kind == "alibaba":
        return scenario_from_alibaba({_table(name, COLUMNS): (name, text) for name, text in texts}, window)
    parts: dict[str, list[tuple[str, str]]] = {}
    for name, text in texts:
        parts.setdefault(TABLES[_table(name, TABLES)], []).append((name, text))
    return scenario_from_google(parts, window)
