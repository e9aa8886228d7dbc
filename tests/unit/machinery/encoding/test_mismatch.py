"""The first value of a wrong JSON type, as Go's decoder reports it."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Pod, Service
from podling.machinery.encoding.mismatch import first_mismatch

JSON = "json: cannot unmarshal"
FIELD = "Go struct field PodSpec.spec"
CONTAINERS = "Go struct field Container.spec.containers"


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": spec}


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        (pod(nodeName=5), f"{JSON} number into {FIELD}.nodeName of type string"),
        (pod(hostNetwork="yes"), f"{JSON} string into {FIELD}.hostNetwork of type bool"),
        (pod(priority="1"), f"{JSON} string into {FIELD}.priority of type int32"),
        (pod(priority=1.5), f"{JSON} number 1.5 into {FIELD}.priority of type int32"),
        (
            pod(priority=2**31),
            f"{JSON} number 2147483648 into {FIELD}.priority of type int32",
        ),
        (
            pod(nodeSelector=["a"]),
            f"{JSON} array into {FIELD}.nodeSelector of type map[string]string",
        ),
        (
            pod(nodeSelector={"a": True}),
            f"{JSON} bool into {FIELD}.nodeSelector of type string",
        ),
        (pod(containers={}), f"{JSON} object into {FIELD}.containers of type []v1.Container"),
        (pod(containers=["a"]), f"{JSON} string into {FIELD}.containers of type v1.Container"),
        (pod(containers=[{"name": 1}]), f"{JSON} number into {CONTAINERS}.name of type string"),
        (
            pod(containers=[{"name": "a", "tty": 1}, {"name": 1}]),
            f"{JSON} number into {CONTAINERS}.tty of type bool",
        ),
        (
            {"metadata": {"creationTimestamp": 5}},
            f"{JSON} number into Go value of type string",
        ),
        ([], f"{JSON} array into Go value of type v1.Pod"),
    ],
)
def test_mismatch_names_the_first_wrong_field(plain: Any, text: str) -> None:
    assert str(first_mismatch(plain, Pod)) == text


def test_port_reads_itself_and_names_no_field() -> None:
    plain = {"spec": {"ports": [{"port": 1, "targetPort": 1.5}]}}
    assert str(first_mismatch(plain, Service)) == f"{JSON} number 1.5 into Go value of type int32"


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        (pod(containers={}), "cannot restore slice from map"),
        (pod(nodeSelector="a"), "cannot restore map from string"),
        (pod(securityContext=5), "cannot restore struct from: int64"),
        (pod(securityContext=[]), "cannot restore struct from: slice"),
        (pod(nodeName=True), "unrecognized type: string"),
    ],
)
def test_mismatch_after_a_strategic_merge_has_the_text_of_the_converter(plain: Any, text: str) -> None:
    found = first_mismatch(plain, Pod)
    assert found is not None
    assert found.restored == text


@pytest.mark.parametrize(
    "plain",
    [
        {},
        pod(),
        pod(nodeName=None, containers=None),
        pod(unknown=5),
        pod(containers=[{"name": "a", "resources": {"requests": {"cpu": 1}}}]),
    ],
)
def test_fitting_data_has_no_mismatch(plain: Any) -> None:
    assert first_mismatch(plain, Pod) is None
