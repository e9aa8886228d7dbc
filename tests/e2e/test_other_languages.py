"""Programs in Go and JavaScript against ``podling test-server`` and the programs of ``podling envtest``."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from podling.testing.envtest_command import envtest
from tests.support.foreign_programs import build_go, environment_with_podling, node_modules
from tests.support.pages import DOCS

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

SECONDS = 240
CLIENT_GO = ("k8s.io/client-go/kubernetes", "k8s.io/client-go/tools/leaderelection")
CONTROLLER_RUNTIME = ("sigs.k8s.io/controller-runtime/pkg/envtest",)


def output_of(command: list[str], folder: Path, **variables: str) -> str:
    """Run a program that must succeed; return its standard output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment_with_podling(**variables),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_client_go_lives_with_a_test_server(tmp_path: Path) -> None:
    program = build_go("client", tmp_path, *CLIENT_GO)
    assert output_of([str(program)], tmp_path).splitlines() == [
        "informer: 3 pods are running",
        "garbage collection: pods and replica sets are gone",
        "leader election: second leads after 1 transition(s)",
        "a month: 31 Jobs are complete",
        "content type: application/vnd.kubernetes.protobuf",
    ]


def test_envtest_runs_an_operator(tmp_path: Path) -> None:
    program = build_go("envtest", tmp_path, *CONTROLLER_RUNTIME)
    assets = tmp_path / "assets"
    assert CliRunner().invoke(envtest, [str(assets)]).exit_code == 0
    done = output_of(
        [str(program), "-test.v"], tmp_path, KUBEBUILDER_ASSETS=str(assets), TMPDIR=str(tmp_path)
    )
    assert "--- PASS: TestOperatorInCluster" in done
    assert sorted(path.name for path in tmp_path.iterdir()) in (
        ["assets", "envtest"],
        ["assets", "envtest", "module"],
    )


def test_client_node_lives_with_a_test_server(tmp_path: Path) -> None:
    """The program is the listing of the page."""
    modules = node_modules("@kubernetes/client-node")
    listing = re.search(r"```js\n// cluster\.mjs\n(.*?)```", (DOCS / "from-go.md").read_text(), re.DOTALL)
    assert listing
    (tmp_path / "cluster.mjs").write_text(listing[1])
    (tmp_path / "node_modules").symlink_to(modules)
    output = output_of(["node", "cluster.mjs"], tmp_path)
    assert len(re.findall(r"'report-\d+: 1'", output)) == 3, output
