"""The pytest plugin: a whole Kubernetes cluster as a fixture.

    def test_operator(cluster):                  # a fresh one
        cluster.apply("deploy/")
        cluster.expect("deployment/web", "condition=Available")
        cluster.advance(days=31)

``cluster`` is fresh for each test; ``shared_cluster`` is one for the whole run, with a namespace for each
test. A test that is a coroutine gets an ``AsyncCluster``, whose methods are awaited.
``@pytest.mark.podling(nodes=3, clock="60x", start="2030-01-01", runtime={...}, seed=7)`` changes what
``cluster`` is.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from podling.testing.clusters import AsyncCluster, Cluster
    from podling.testing.settings import TestSettings

MARKER = (
    "podling(nodes=1, clock='paused', start=None, runtime=None, seed=0, settle=0.01): settings of the "
    "fixture 'cluster'; see podling.testing.TestSettings"
)
OWN_FIXTURES = ("cluster", "shared_cluster")


KUBECONFIG_INI = "podling_kubeconfig"
SETTINGS_INI = "podling_settings"
SESSION_INI = "podling_session_cluster"
_KUBECONFIG = pytest.StashKey[Path]()
_SESSION_CLUSTER = pytest.StashKey["Cluster"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        KUBECONFIG_INI,
        "Let KUBECONFIG lead to the cluster of the running test, for programs and libraries that read it.",
        type="bool",
        default=False,
    )
    parser.addini(
        SETTINGS_INI,
        "A YAML file with settings of all clusters; those of a test's marker come before them.",
        type="string",
        default="",
    )
    parser.addini(
        SESSION_INI,
        "Start the shared cluster before the suite is imported, which may read KUBECONFIG there already.",
        type="bool",
        default=False,
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Set ``KUBECONFIG`` and start the session's cluster where wanted.

    This comes before any part of the suite is imported: some read the file already then.
    """
    if early_config.getini(KUBECONFIG_INI):
        folder = TemporaryDirectory(prefix="podling-kubeconfig-")
        early_config.add_cleanup(folder.cleanup)
        early_config.add_cleanup(partial(_restore, os.environ.get("KUBECONFIG")))
        early_config.stash[_KUBECONFIG] = path = Path(folder.name, "config")
        os.environ["KUBECONFIG"] = str(path)
    if early_config.getini(SESSION_INI):
        from podling.testing.clusters import running_cluster

        session = ExitStack()
        early_config.add_cleanup(session.close)
        running = session.enter_context(running_cluster(_settings(early_config, {}, SETTINGS_INI)))
        early_config.stash[_SESSION_CLUSTER] = running
        _lead_kubeconfig(early_config, running)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def _restore(before: str | None) -> None:
    os.environ.pop("KUBECONFIG", None)
    if before is not None:
        os.environ["KUBECONFIG"] = before


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster | AsyncCluster]:
    """A fresh Kubernetes cluster with simulated nodes, whose time stands still until the test winds it."""
    from podling.testing.clusters import running_cluster

    marker = request.node.get_closest_marker("podling")
    if marker is not None and marker.args:
        raise pytest.UsageError(f"{request.node.nodeid}: settings of a cluster have names")
    settings = _settings(request.config, {} if marker is None else marker.kwargs, request.node.nodeid)
    with running_cluster(settings) as running:
        yield _fitting(running, request)


def _settings(config: pytest.Config, own: Mapping[str, Any], place: str) -> TestSettings:
    """Return the settings of the configuration's file, and ``own`` before them. Raises ``UsageError``."""
    from podling.testing.settings import settings_from, settings_in

    name = config.getini(SETTINGS_INI)
    try:
        common = settings_in((config.rootpath / name).read_text(), name) if name else {}
        return settings_from({**common, **own})
    except (OSError, TypeError, ValueError) as error:
        raise pytest.UsageError(f"{place}: {error}") from error


@pytest.fixture(scope="session")
def _podling_shared_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    from podling.testing.clusters import running_cluster

    begun = request.config.stash.get(_SESSION_CLUSTER, None)
    if begun is not None:
        yield begun
        return
    with running_cluster(_settings(request.config, {}, SETTINGS_INI)) as running:
        yield running


@pytest.fixture
def shared_cluster(
    _podling_shared_cluster: Cluster, request: pytest.FixtureRequest
) -> Iterator[Cluster | AsyncCluster]:
    """A namespace of the test's own in a cluster, and its time, that all tests of the process share."""
    from podling import ids
    from podling.testing.clusters import Cluster

    whole, namespace = _podling_shared_cluster, f"test-{ids.suffix(10)}"
    whole.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    yield _fitting(Cluster(whole._thread, namespace), request)
    whole.delete(f"namespace/{namespace}")
    whole.expect(f"namespace/{namespace}", "delete")


def _fitting(found: Cluster, request: pytest.FixtureRequest) -> Cluster | AsyncCluster:
    """Return the cluster in the form that suits a test: awaited in a coroutine.

    ``KUBECONFIG`` leads to it where the configuration wants that.
    """
    function = getattr(request, "function", None)
    _lead_kubeconfig(request.config, found)
    return found.asynchronous if inspect.iscoroutinefunction(function) else found


def _lead_kubeconfig(config: pytest.Config, found: Cluster) -> None:
    path = config.stash.get(_KUBECONFIG, None)
    if path is not None:
        path.touch(mode=0o600)
        path.write_bytes(found.kubeconfig.read_bytes())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test what was wrong in its cluster."""
    report = yield
    if report.when == "call" and report.failed:
        for found in _clusters_of(item):
            try:
                text = found.describe()
            except Exception as error:  # a report must not hide the failure that it is about
                text = f"the cluster cannot be described: {error!r}"
            report.sections.append(("podling cluster", text))
    return report


def _clusters_of(item: pytest.Item) -> list[Any]:
    from sys import modules

    loaded = modules.get("podling.testing.clusters")
    if loaded is None:
        return []
    values = getattr(item, "funcargs", {})
    found = (values.get(name) for name in OWN_FIXTURES)
    return [each for each in found if isinstance(each, loaded.Cluster | loaded.AsyncCluster)]
