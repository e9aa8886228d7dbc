"""The suites: where their sources come from, how each is run, and which of their tests cannot pass.

A suite from a package index is fetched as a source distribution. The others lie in a git repository only; the
caller names a local clone, and the pinned commit is taken from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """One project's suite.

    ``version`` is a release on the package index, or a commit where ``repository`` is set; ``paths`` are
    taken from the clone. ``arguments`` go to pytest, which runs in the source's directory; a suite of
    ``node`` takes none. ``system_pod`` is set where tests list the pods of kube-system and expect some.
    ``impossible`` maps the end of a test's name to the reason why it cannot pass on any cluster.
    """

    name: str
    version: str
    arguments: tuple[str, ...] = ()
    repository: str = ""
    paths: tuple[str, ...] = ()
    node: bool = False
    system_pod: bool = False
    impossible: Mapping[str, str] = field(default_factory=dict)


PYTEST = ("-p", "no:cacheprovider", "--timeout=120")

SUITES = (
    Suite(
        "kopf",
        "1.45.2",
        (
            *PYTEST,
            "--only-e2e",
            # Its runner leaves sockets to the garbage collector; whichever test runs then is blamed.
            "-W=ignore::pytest.PytestUnraisableExceptionWarning",
            "tests/e2e",
            "examples",
        ),
    ),
    Suite(
        "kr8s",
        "0.20.15",
        (*PYTEST, "-p", "pytest_kind.plugin", "-o", "addopts=", "--keep-cluster", "kr8s"),
        system_pod=True,
        impossible={
            "test_api_timeout": "expects that no request over TLS is answered within 10 microseconds or less",
        },
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
)
"""In the order in which they run when none is named."""
