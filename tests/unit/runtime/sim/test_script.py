"""Scripts of simulated containers: how they are written, found, and read at a moment."""

from __future__ import annotations

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.sim import (
    ContainerScript,
    ExecScript,
    ImageScript,
    PodScript,
    ProbeScript,
    Run,
    Scenario,
    Usage,
)
from podling.runtime.sim.script import ANNOTATION_PREFIX, POD_ANNOTATION, annotated, annotation

APP = ANNOTATION_PREFIX + "app"


def test_an_annotation_is_a_script_in_json() -> None:
    text = '{"startSeconds": 2, "runs": [{"seconds": 30, "exitCode": 1}, {}]}'
    script = annotated(ContainerScript, APP, {APP: text})
    assert script == ContainerScript(start_seconds=2, runs=(Run(seconds=30, exit_code=1), Run()))


def test_the_container_comes_before_its_pod() -> None:
    own, pods = {APP: '{"startSeconds": 1}'}, {APP: '{"startSeconds": 2}'}
    assert annotated(ContainerScript, APP, own, pods) == ContainerScript(start_seconds=1)
    assert annotated(ContainerScript, APP, {}, pods) == ContainerScript(start_seconds=2)
    assert annotated(ContainerScript, APP, {}, {}) is None


@pytest.mark.parametrize("text", ["", "{", '{"exitcode": 1}', '{"runs": [{"seconds": "long"}]}'])
def test_unreadable_annotation_is_named_in_error(text: str) -> None:
    with pytest.raises(RuntimeFailure, match=f"annotation {APP} cannot be read"):
        annotated(ContainerScript, APP, {APP: text})


@pytest.mark.parametrize(
    "script",
    [
        ContainerScript(),
        ContainerScript(runs=(Run(seconds=1, exit_code=3),), ignores_signals=True),
        ContainerScript(exec=(ExecScript(command="true", after=3),), probes=(ProbeScript(success=False),)),
    ],
)
def test_a_script_survives_being_an_annotation(script: ContainerScript) -> None:
    assert annotated(ContainerScript, APP, {APP: annotation(script)}) == script


def test_the_pods_own_script_is_under_a_name_no_container_has() -> None:
    script = PodScript(sandbox_error="no network", sandbox_failures=2)
    assert annotated(PodScript, POD_ANNOTATION, {POD_ANNOTATION: annotation(script)}) == script


def test_the_first_pattern_that_fits_wins() -> None:
    first, second, image = ContainerScript(start_seconds=1), ContainerScript(), ImageScript(missing=True)
    scenario = Scenario(
        containers={"default/web-?/app": first, "default/*/app": second}, images={"docker.io/*/gone:*": image}
    )
    assert scenario.container("default", "web-1", "app") is first
    assert scenario.container("default", "web-10", "app") is second
    assert scenario.container("other", "web-1", "app") is None
    assert scenario.image("docker.io/library/gone:latest") is image
    assert scenario.image("docker.io/library/here:latest") == ImageScript()


@pytest.mark.parametrize(("attempt", "code"), [(0, 1), (1, 2), (2, 2), (99, 2)])
def test_the_last_run_repeats(attempt: int, code: int) -> None:
    script = ContainerScript(runs=(Run(exit_code=1), Run(exit_code=2)))
    assert script.run_for(attempt).exit_code == code


@pytest.mark.parametrize(
    ("command", "age", "code"),
    [(["cat", "/ready"], 0, 1), (["cat", "/ready"], 30, 0), (["cat", "/ready"], 61, 2), (["ls"], 99, 0)],
)
def test_an_answer_to_exec_holds_from_its_moment_on(command: list[str], age: float, code: int) -> None:
    script = ContainerScript(
        exec=(
            ExecScript(command="cat", exit_code=1),
            ExecScript(command="cat /ready", after=30),
            ExecScript(command="cat", after=60, exit_code=2),
        )
    )
    assert script.answer_exec(command, age).exit_code == code


@pytest.mark.parametrize(
    ("kind", "target", "age", "success"),
    [
        ("http", "8080/healthz", 0, False),
        ("http", "8080/healthz", 10, True),
        ("http", "8080/other", 0, True),
        ("tcp", "8080", 0, True),
        ("tcp", "8080", 20, False),
    ],
)
def test_an_answer_to_a_probe_is_chosen_by_kind_target_and_moment(
    kind: str, target: str, age: float, success: bool
) -> None:
    script = ContainerScript(
        probes=(
            ProbeScript(kind="http", target="8080/healthz", success=False),
            ProbeScript(kind="http", target="8080/healthz", after=10),
            ProbeScript(kind="tcp", after=20, success=False),
        )
    )
    assert script.answer_probe(kind, target, age).success is success


@pytest.mark.parametrize(("age", "seconds", "memory"), [(0, 0, 10), (10, 1, 20), (15, 3.5, 20), (5, 0.5, 10)])
def test_use_of_the_machine_adds_up(age: float, seconds: float, memory: int) -> None:
    script = ContainerScript(
        usage=(
            Usage(cpu_millicores=100, memory_bytes=10),
            Usage(after=10, cpu_millicores=500, memory_bytes=20),
        )
    )
    assert script.cpu_nanoseconds(age) == seconds * 1e9
    assert script.memory_bytes(age) == memory


def test_nothing_said_is_nothing_used() -> None:
    assert (ContainerScript().cpu_nanoseconds(60), ContainerScript().memory_bytes(60)) == (0, 0)
