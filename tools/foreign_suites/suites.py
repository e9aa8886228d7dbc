"""The suites: where their sources come from, how each is run, and which of their failures are excused.

A suite from a package index is fetched as a source distribution. The others lie in a git repository only; the
caller names a local clone, and the pinned commit is taken from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Excuse:
    """A failure that may happen on any cluster: of the ``test`` whose name ends so, with this ``message``."""

    test: str
    message: str
    reason: str


@dataclass(frozen=True)
class Suite:
    """One project's suite.

    ``version`` is a release on the package index, or a commit where ``repository`` is set; ``paths`` are
    taken from the clone. ``arguments`` go to pytest, which runs in the source's directory; a suite of
    ``node`` takes none. ``system_pod`` is set where tests list the pods of kube-system and expect some.
    ``excuses`` are failures that do not count.
    """

    name: str
    version: str
    arguments: tuple[str, ...] = ()
    repository: str = ""
    paths: tuple[str, ...] = ()
    node: bool = False
    system_pod: bool = False
    excuses: tuple[Excuse, ...] = ()
    simulated: Mapping[str, Mapping[str, Any]] | None = None
    """The scripts of simulated containers by pattern, for a suite that runs on the pytest plugin in place of
    a cluster with real containers; its own configuration stays. ``seconds`` and ``exitCode`` are those of a
    program that ends, in the machine's time."""


# kr8s takes a port from 10000 to 60000 on which no socket listens. A connection that ended in the last minute
# holds its port, too, and half of that range is where the kernel takes the ports of outgoing connections.
TAKEN_PORT = "takes a port at random, which other connections of the machine may have"
KR8S_STARTED = ("test_pod_port_forward_start_stop", "test_service_port_forward_start_stop")
KR8S_FORWARDS = (
    "test_pod_port_forward_context_manager",
    "test_pod_port_forward_context_manager_sync",
    "test_service_port_forward_context_manager",
    "test_multiple_bind_addresses_port_forward",
)
PYTEST = ("-p", "no:cacheprovider", "--timeout=120")

SUITES = (
    Suite(
        "kopf",
        "1.45.2",
        (
            *PYTEST,
            "--only-e2e",
            # Its runner leaves sockets to the garbage collector, which fails the test that runs then.
            "-W=ignore::pytest.PytestUnraisableExceptionWarning",
            "tests/e2e",
            "examples",
        ),
        excuses=(
            Excuse(
                "",
                "AST constructor recursion depth mismatch",
                "Python 3.11 cannot always parse a file while garbage is collected (its issue 106905)",
            ),
        ),
    ),
    Suite(
        "kr8s",
        "0.20.15",
        (*PYTEST, "-p", "pytest_kind.plugin", "-o", "addopts=", "--keep-cluster", "kr8s"),
        system_pod=True,
        excuses=(
            Excuse(
                "::test_api_timeout", "DID NOT RAISE", "expects that no answer comes within 10 microseconds"
            ),
            Excuse(
                "::test_api_resources",
                "too many values to unpack",
                "expects one resource called pods; a cluster with metrics.k8s.io has two",
            ),
            *(Excuse(f"::{test}", "address already in use", TAKEN_PORT) for test in KR8S_FORWARDS),
            # There the port is taken in the background, and its failure is not shown.
            *(Excuse(f"::{test}", "All connection attempts failed", TAKEN_PORT) for test in KR8S_STARTED),
        ),
    ),
    Suite(
        "lightkube",
        "2f41260dc98af0cd3f62a526539a72cd8289af73",
        (*PYTEST, "e2e-tests"),
        repository="gtsystem/lightkube",
        paths=("e2e-tests",),
        system_pod=True,
    ),
    Suite(
        "kubernetes",
        "024658493d124f046fc0a9827a2a3165cf2aee28",
        (*PYTEST, "kubernetes/e2e_test"),
        repository="kubernetes-client/python",
        paths=("kubernetes/e2e_test",),
    ),
    Suite(
        "kubernetes_asyncio",
        "cb0b819d0666538dc02f39a858e251834f980d4e",
        (*PYTEST, "kubernetes_asyncio/e2e_test"),
        repository="tomplus/kubernetes_asyncio",
        paths=("kubernetes_asyncio/e2e_test",),
    ),
    Suite(
        "client-node",
        "072811b3615b6d97a56448c89f6674574cebd0bb",
        repository="kubernetes-client/javascript",
        paths=("src/test/integration",),
        node=True,
    ),
    Suite(
        "dask-kubernetes",
        "1daa175f33554549a65530a26300f46368083e7e",
        (
            *("-p", "no:cacheprovider", "-p", "pytest_kind.plugin", "-o", "addopts=", "--timeout=40"),
            "dask_kubernetes/operator/controller/tests",
            # These connect to a program in a container, and simulated containers run none.
            "--deselect=dask_kubernetes/operator/controller/tests/test_controller.py::test_simplecluster",
            "--deselect=dask_kubernetes/operator/controller/tests/test_controller.py::test_scalesimplecluster",
        ),
        repository="dask/dask-kubernetes",
        paths=("dask_kubernetes", "pyproject.toml"),
        simulated={
            "*/simple-job-runner/*": {"startSeconds": 2, "seconds": 7, "exitCode": 0},
            "*/failed-job-runner/*": {"startSeconds": 2, "seconds": 7, "exitCode": 1},
            "*": {"startSeconds": 2},
        },
    ),
    Suite(
        "kubespawner",
        "4161d544121f30a09a5bb7b798a5213c22d5bc90",
        ("-p", "no:cacheprovider", "-o", "addopts=", "--timeout=120", "tests"),
        repository="jupyterhub/kubespawner",
        paths=("kubespawner", "tests", "pyproject.toml"),
        simulated={
            "*": {
                "startSeconds": 2,
                # Results of the suite's functions that are to run in a container.
                "exec": [
                    {"command": "python3 -c def check_up", "stdout": "302\n"},
                    {"command": "python3 -c def exec_error", "exitCode": 1, "stderr": "ZeroDivisionError"},
                ],
            }
        },
    ),
)
"""All suites, in the order in which they run when none is named."""
