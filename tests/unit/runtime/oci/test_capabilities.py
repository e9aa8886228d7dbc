"""Capabilities of a container by its security context."""

from __future__ import annotations

import pytest

from podling.runtime.base import RuntimeFailure, Security
from podling.runtime.oci.capabilities import DEFAULT, NAMES, container_capabilities

ALL = frozenset(NAMES)


def given(**wish: object) -> set[str]:
    return set(container_capabilities(Security(**wish), ALL))  # type: ignore[arg-type]


def test_the_kernels_numbers_are_the_positions() -> None:
    assert (NAMES[0], NAMES[12], NAMES[21], NAMES[40]) == (
        "CAP_CHOWN",
        "CAP_NET_ADMIN",
        "CAP_SYS_ADMIN",
        "CAP_CHECKPOINT_RESTORE",
    )
    assert len(NAMES) == 41


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ({}, set(DEFAULT)),
        ({"add_capabilities": ("NET_ADMIN",)}, {*DEFAULT, "CAP_NET_ADMIN"}),
        ({"add_capabilities": ("cap_sys_time",)}, {*DEFAULT, "CAP_SYS_TIME"}),
        ({"drop_capabilities": ("CHOWN", "KILL")}, set(DEFAULT) - {"CAP_CHOWN", "CAP_KILL"}),
        ({"drop_capabilities": ("ALL",)}, set()),
        ({"drop_capabilities": ("ALL",), "add_capabilities": ("CHOWN",)}, {"CAP_CHOWN"}),
        ({"add_capabilities": ("ALL",)}, set(NAMES)),
        ({"add_capabilities": ("ALL",), "drop_capabilities": ("MKNOD",)}, set(NAMES) - {"CAP_MKNOD"}),
        ({"add_capabilities": ("CHOWN",), "drop_capabilities": ("CHOWN",)}, set(DEFAULT) - {"CAP_CHOWN"}),
        ({"privileged": True, "drop_capabilities": ("ALL",)}, set(NAMES)),
    ],
)
def test_security_context_decides_capabilities(wish: dict[str, object], expected: set[str]) -> None:
    assert given(**wish) == expected


def test_a_node_without_a_capability_leaves_it_out_of_all() -> None:
    less = ALL - {"CAP_SYS_RESOURCE", "CAP_CHOWN"}
    assert set(container_capabilities(Security(privileged=True), less)) == less
    assert "CAP_CHOWN" not in container_capabilities(Security(), less)
    with pytest.raises(RuntimeFailure, match="this node does not have it itself"):
        container_capabilities(Security(add_capabilities=("SYS_RESOURCE",)), less)


def test_an_unknown_one_is_an_error() -> None:
    with pytest.raises(RuntimeFailure, match='unknown capability "CAP_FLY"'):
        container_capabilities(Security(add_capabilities=("FLY",)), ALL)
