"""``python -m tools.foreign_suites [NAME...]``: run suites, print their counts, exit with 1 if one failed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from podling import clock
from tools.foreign_suites.cluster import describe_pods, kubectl_version, prepared_cluster
from tools.foreign_suites.environment import prepare
from tools.foreign_suites.results import Result, describe, read_report
from tools.foreign_suites.suites import SUITES, Suite

ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 1800


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
def main(names: Sequence[str], sources: Sequence[str], work: Path, select: str) -> None:
    """Run the suites of other projects, all or those named, each against a cluster of its own."""
    clones = dict(source.split("=", 1) for source in sources)
    work.mkdir(parents=True, exist_ok=True)
    click.echo(kubectl_version().splitlines()[0])
    good = True
    for suite in SUITES:
        if names and suite.name not in names:
            continue
        clone = clones.get(suite.name)
        result = run(suite, work.resolve(), Path(clone) if clone else None, select)
        click.echo(describe(suite.name, result))
        good = good and result.good
    sys.exit(0 if good else 1)


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
            begun = clock.monotonic()
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
            result = read_report(report, suite.excuses, clock.monotonic() - begun)
            if not result.good:
                (logs / f"{suite.name}.cluster.log").write_text(f"{describe_pods(cluster)}\n{cluster.log()}")
            return result


if __name__ == "__main__":
    main()
