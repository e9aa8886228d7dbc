"""The pytest plugin as its users have it: in a pytest of its own, over a folder of their tests."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
"""
TESTS = """
import os
import subprocess

import pytest


def test_plain_function(cluster):
    cluster.apply("web.yaml")
    cluster.expect("deployment/web", "condition=Available")
    cluster.advance(minutes=5)


async def test_coroutine(cluster):
    await cluster.apply("web.yaml")
    await cluster.expect("deployment/web", "condition=Available")
    api = await cluster.kr8s()
    assert len([pod async for pod in api.get("pods")]) == 3


@pytest.mark.parametrize("number", range(3))
def test_namespace_of_its_own(shared_cluster, number):
    shared_cluster.apply("web.yaml")
    assert len(shared_cluster.list("pods")) == 3


@pytest.mark.podling(nodes=[{"name": "big", "cpu": "64"}], start="2030-01-01", clock="60x")
def test_marker(cluster):
    assert cluster.get("node/big")["status"]["capacity"]["cpu"] == "64"
    assert cluster.now.year == 2030


def test_lightkube(cluster):
    from lightkube.resources.core_v1 import Pod

    cluster.apply("web.yaml")
    assert len(list(cluster.lightkube().list(Pod))) == 3


def test_kubernetes(cluster):
    import kubernetes

    cluster.apply("web.yaml")
    with cluster.kubernetes() as api:
        assert len(kubernetes.client.CoreV1Api(api).list_namespaced_pod("default").items) == 3


def test_programs_find_the_cluster(cluster):
    cluster.apply("web.yaml")
    command = ["kubectl", "get", "pods", "--no-headers"]
    done = subprocess.run(command, env=os.environ | cluster.environment, capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == 3, done.stderr
"""
FAILING = """
import pytest

@pytest.mark.podling(nodes=0)
def test_nothing_runs(cluster):
    cluster.apply("web.yaml")
    cluster.expect("deployment/web", "condition=Available", within="1m")
"""
WRONG = """
import pytest

@pytest.mark.podling(node=3)
def test_wrong_marker(cluster):
    pass
"""
BY_VARIABLE = """
import os
import subprocess

HERE = os.environ["KUBECONFIG"]

def test_variable_leads_to_the_cluster(cluster):
    cluster.apply("web.yaml")
    done = subprocess.run(["kubectl", "get", "deploy", "-o", "name"], capture_output=True, text=True)
    assert (done.stdout, HERE) == ("deployment.apps/web\\n", os.environ["KUBECONFIG"])
"""
SETTINGS = """
nodes: [{name: common, cpu: "64"}]
start: "2031-01-01"
"""
WITH_SETTINGS = """
import subprocess

import pytest


@pytest.fixture(scope="session", autouse=True)
def fixture_of_the_suite():
    return subprocess.run(["kubectl", "get", "nodes", "-o", "name"], capture_output=True, text=True)


def test_fixture_of_the_session_finds_the_cluster(fixture_of_the_suite):
    assert fixture_of_the_suite.stdout == "node/common\\n", fixture_of_the_suite.stderr


@pytest.mark.podling(start="2032-01-01")
def test_marker_comes_before_the_file(cluster):
    assert [each["metadata"]["name"] for each in cluster.list("nodes")] == ["common"]
    assert cluster.now.year == 2032
"""


AT_IMPORT = """
import lightkube
from lightkube.resources.core_v1 import Namespace

client = lightkube.Client()
client.create(Namespace(metadata={"name": "made-at-import"}))
"""
OF_THE_SESSION = """
def test_suite_and_test_share_the_cluster(shared_cluster):
    assert shared_cluster.get("namespace/made-at-import")["status"]["phase"] == "Active"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "web.yaml").write_text(WEB)
    return tmp_path


def run(folder: Path, content: str, *options: str, ini: str = "") -> tuple[int, str]:
    """Run tests with the plugin; return pytest's exit code and output."""
    (folder / "test_of_a_user.py").write_text(content)
    (folder / "pytest.ini").write_text(f"[pytest]\nasyncio_mode = auto\n{ini}")
    plugin = ("-p", "podling.testing.pytest_plugin", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *plugin, *options, "--strict-markers"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stdout + done.stderr


def test_tests_of_users_pass_side_by_side(folder: Path) -> None:
    before = set(Path(tempfile.gettempdir()).glob("podling-*"))
    code, output = run(folder, TESTS, "-n", "2")
    assert code == 0, output
    assert "9 passed" in output
    assert set(Path(tempfile.gettempdir()).glob("podling-test-*")) <= before


def test_report_of_a_failure_says_what_was_wrong(folder: Path) -> None:
    code, output = run(folder, FAILING)
    assert code == 1
    assert "deployment/web: condition=Available did not come true within 60 s" in output
    assert "podling cluster" in output
    assert "no nodes available to schedule pods" in output


def test_wrong_marker_is_refused(folder: Path) -> None:
    code, output = run(folder, WRONG)
    assert code != 0
    assert "unknown settings of a cluster: node; there are: nodes" in output


def test_variable_leads_to_the_cluster_of_the_test(folder: Path) -> None:
    code, output = run(folder, BY_VARIABLE, ini="podling_kubeconfig = true\n")
    assert code == 0, output


def test_configuration_sets_all_clusters_and_begins_one_before_all_fixtures(folder: Path) -> None:
    (folder / "settings.yaml").write_text(SETTINGS)
    ini = "podling_kubeconfig = true\npodling_session_cluster = true\npodling_settings = settings.yaml\n"
    code, output = run(folder, WITH_SETTINGS, ini=ini)
    assert code == 0, output
    assert "2 passed" in output


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_cluster_of_the_session_is_there_when_the_suite_is_imported(
    options: tuple[str, ...], folder: Path
) -> None:
    """Each process that imports the suite has its own: the one that hands out the tests imports it, too."""
    (folder / "conftest.py").write_text(AT_IMPORT)
    ini = "podling_kubeconfig = true\npodling_session_cluster = true\n"
    code, output = run(folder, OF_THE_SESSION, *options, ini=ini)
    assert code == 0, output
    assert "1 passed" in output


@pytest.mark.parametrize(
    ("text", "message"),
    [("[1]", "has no settings of a cluster"), ("node: 3", "unknown settings of a cluster: node")],
)
def test_wrong_settings_in_the_file_are_refused(folder: Path, text: str, message: str) -> None:
    (folder / "settings.yaml").write_text(text)
    code, output = run(folder, "def test_any(cluster): pass", ini="podling_settings = settings.yaml\n")
    assert code != 0
    assert message in output


def test_package_does_not_import_pytest() -> None:
    script = "import podling.testing, podling.testing.clusters, sys; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
