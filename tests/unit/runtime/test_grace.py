"""Grace periods of containers, from their annotations."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Container, Pod, PodSpec
from podling.kubelet.labels import container_annotations
from podling.runtime.grace import POD_TERMINATION_GRACE, own_grace


@pytest.mark.parametrize(
    ("text", "at_most", "seconds"),
    [
        ("3", 10, 3),
        ("30", 10, 10),
        ("0", 10, 2),
        ("1", 10, 2),
        ("0", 1, 1),
        ("5", 0, 0),
        (str(1 << 62), 10, 10),
        ("-5", 10, 10),
        ("\u00b2", 10, 10),
        ("", 10, 10),
    ],
)
def test_grace_is_that_of_pod_within_bounds(text: str, at_most: float, seconds: float) -> None:
    assert own_grace({POD_TERMINATION_GRACE: text}, at_most) == seconds


def test_containers_carry_grace_of_their_pod() -> None:
    container = Container(name="main")
    for grace in (None, 0, 7):
        pod = Pod(spec=PodSpec(containers=(container,), termination_grace_period_seconds=grace))
        found = container_annotations(pod, container, 0, "").get(POD_TERMINATION_GRACE)
        assert found == (None if grace is None else str(grace))
    assert own_grace({}, 4) == 4
