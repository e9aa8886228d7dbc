"""``python -m tools.foreign_suites [NAME...]``: run suites, print their counts, exit with 1 if one failed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from podling import clock as time
from podling.testing.settings import speed_of
from tools.foreign_suites.cluster import describe_pods, kubectl_version, prepared_cluster
from tools.foreign_suites.environment import prepare
from tools.foreign_suites.results import Result, describe, read_report
from tools.foreign_suites.suites import SUITES, Suite

ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 1800
LIFE = ("seconds", "exitCode")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([suite.name for suite in SUITES]))
@click.option(
    "--source", "sources", multiple=True, metavar="NAME=CLONE", help="A local clone of a suite's project."
)
@click.option(
    "--work", type=click.Path(path_type=Path), default=ROOT / "build" / "foreign-suites", show_default=True
)
@click.option(
    "--select", metavar="EXPRESSION", default="", help="Run these tests only, as pytest's -k takes them."
)
@click.option(
    "--clock", default="running", show_default=True, help="The clock of simulated clusters, as 60x."
)
def main(names: Sequence[str], sources: Sequence[str], work: Path, select: str, clock: str) -> None:
    """Run the suites of other projects, all or those named, each against a cluster of its own."""
    clones = dict(source.split("=", 1) for source in sources)
    work.mkdir(parents=True, exist_ok=True)
    click.echo(kubectl_version().splitlines()[0])
    good = True
    for suite in SUITES:
        if names and suite.name not in names:
            continue
        clone = clones.get(suite.name)
        source = Path(clone) if clone else None
        if suite.simulated is None:
            result = run(suite, work.resolve(), source, select)
        else:
            result = run_simulated(suite, work.resolve(), source, clock, select)
        click.echo(describe(suite.name, result))
        good = good and result.good
    sys.exit(0 if good else 1)


def cluster_settings(suite: Suite, clock: str) -> Mapping[str, Any]:
    """Return the settings of a simulated cluster.

    A program works as long in the machine's time at any speed of the clock.
    """
    containers: dict[str, dict[str, Any]] = {}
    for pattern, script in (suite.simulated or {}).items():
        containers[pattern] = {key: value for key, value in script.items() if key not in LIFE}
        if "seconds" in script:
            seconds = script["seconds"] * (speed_of(clock) or 1.0)
            containers[pattern]["runs"] = [{"seconds": seconds, "exitCode": script["exitCode"]}]
    return {"clock": clock, "runtime": {"containers": containers}}


def run(suite: Suite, work: Path, clone: Path | None, select: str = "") -> Result:
    """Run one suite; its output lies in ``work/logs/NAME.log``, the report beside it."""
    logs = work / "logs"
    logs.mkdir(exist_ok=True)
    report = logs / f"{suite.name}.xml"
    report.unlink(missing_ok=True)
    ready = prepare(suite, work, clone, report)
    command = [*ready.command, *(["-k", select] if select and not suite.node else [])]
    with tempfile.TemporaryDirectory(prefix="podling-foreign-") as folder:
        directory = Path(folder) / "cluster"
        with prepared_cluster(directory, system_pod=suite.system_pod) as cluster:
            home = Path(folder) / "home"
            (home / ".kube").mkdir(parents=True)
            (home / ".kube" / "config").symlink_to(cluster.kubeconfig)
            (home / "tmp").mkdir()
            # Suites read HOME or KUBECONFIG, and clients leave credentials in temporary files: nothing of
            # the caller's may be used, and nothing may stay.
            places = {"HOME": home, "KUBECONFIG": cluster.kubeconfig, "TMPDIR": home / "tmp"}
            variables = {
                **os.environ,
                **ready.variables,
                **{name: str(path) for name, path in places.items()},
            }
            begun = time.monotonic()
            with (logs / f"{suite.name}.log").open("w") as log:
                try:
                    subprocess.run(
                        command,
                        cwd=ready.folder,
                        env=variables,
                        stdout=log,
                        stderr=log,
                        timeout=LONGEST_SECONDS,
                    )
                except subprocess.TimeoutExpired:
                    log.write(f"\ngiven up after {LONGEST_SECONDS} s\n")
            result = read_report(report, suite.excuses, time.monotonic() - begun)
            if not result.good:
                (logs / f"{suite.name}.cluster.log").write_text(f"{describe_pods(cluster)}\n{cluster.log()}")
            return result


def run_simulated(suite: Suite, work: Path, clone: Path | None, clock: str, select: str = "") -> Result:
    """Run a suite on the pytest plugin, whose clusters' time passes as ``clock`` says."""
    logs = work / "logs"
    logs.mkdir(exist_ok=True)
    report = logs / f"{suite.name}-{clock}.xml"
    report.unlink(missing_ok=True)
    ready = prepare(suite, work, clone, report)
    with tempfile.TemporaryDirectory(prefix="podling-foreign-") as folder:
        settings = Path(folder) / "settings.yaml"
        settings.write_text(yaml.safe_dump(cluster_settings(suite, clock), sort_keys=False))
        selection = ["-k", select] if select else []
        command = [*ready.command, "-o", f"podling_settings={settings}", *selection]
        variables = {**os.environ, **ready.variables, "HOME": folder, "TMPDIR": folder}
        begun = time.monotonic()
        with (logs / f"{suite.name}-{clock}.log").open("w") as log:
            try:
                subprocess.run(
                    command, cwd=ready.folder, env=variables, stdout=log, stderr=log, timeout=LONGEST_SECONDS
                )
            except subprocess.TimeoutExpired:
                log.write(f"\ngiven up after {LONGEST_SECONDS} s\n")
        return read_report(report, suite.excuses, time.monotonic() - begun)


if __name__ == "__main__":
    main()
