"""Scenarios from Alibaba's trace of 2018."""

from __future__ import annotations

import pytest

from podling.sim.importing.from_alibaba import scenario_from_alibaba
from podling.sim.importing.sources import Unreadable
from podling.sim.importing.traces import Window
from tests.support.importing import read

MACHINES = """\
m_1,0,1,a,96,100,USING
m_2,0,2,b,96,50,USING
m_2,3600,2,b,96,50,USING
m_3,1800,1,a,96,100,USING
"""
CONTAINERS = """\
c_1,m_1,0,app_7,started,400,800,1.56
c_2,m_2,0,app_7,started,400,800,1.56
c_2,m_2,50,app_7,started,400,800,1.56
c_3,m_2,600,app_8,allocated,100,100,0.78
c_4,m_2,700,app_9,unknown,100,100,0.78
"""
TASKS = """\
M1,3,j_1,1,Terminated,100,160,100,0.5
R2_1,1,j_1,1,Failed,200,230,50,0.5
M3,1,j_2,1,Running,300,0,50,0.5
M4,9,j_3,1,Terminated,90000,90010,50,0.5
"""


def files(
    machines: str = MACHINES, containers: str = CONTAINERS, tasks: str = TASKS
) -> dict[str, tuple[str, str]]:
    return {
        "machine_meta": ("machine_meta.csv", machines),
        "container_meta": ("container_meta.csv", containers),
        "batch_task": ("batch_task.csv", tasks),
    }


def test_window_becomes_machines_services_and_jobs() -> None:
    found = read(scenario_from_alibaba(files(), Window(memory=200 * 2**30)))
    assert [(each.count, each.zones, each.memory) for each in found.nodes] == [
        (1, ("1",), "204800Mi"),
        (1, ("2",), "102400Mi"),
    ]
    applied = {}
    for action in found.actions:
        if action.apply is not None:
            plain = action.apply.objects[0]
            applied[plain["metadata"]["name"]] = (float(action.at or 0), plain)
    assert list(applied) == ["app-7-1", "j-1-m1", "j-1-r2-1", "app-8-2"]
    at, service = applied["app-7-1"]
    assert (at, service["kind"], service["spec"]["replicas"]) == (0, "Deployment", 2)
    requests = service["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "4000m", "memory": "3195Mi"}
    at, job = applied["j-1-m1"]
    assert (at, job["spec"]["completions"]) == (100, 3)
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"sim.podling.dev/main": '{"runs": [{"seconds": 60.0, "exitCode": 0}]}'}
    assert '"exitCode": 1' in str(applied["j-1-r2-1"][1])
    added = [float(each.at or 0) for each in found.actions if each.add_nodes is not None]
    assert added == [1800]


def test_notes_name_what_is_left_out() -> None:
    notes = scenario_from_alibaba(files(), Window()).notes
    assert "left out: 1 tasks without a start or an end" in notes
    assert notes[0].startswith("memory is relative in this trace")


def test_job_that_runs_when_the_window_begins_runs_on() -> None:
    found = read(scenario_from_alibaba(files(), Window(begin=130)))
    jobs = [each for each in found.actions if each.apply is not None and "j-1-m1" in str(each.apply.objects)]
    assert [float(each.at or 0) for each in jobs] == [0]
    assert '"seconds": 30.0' in str(jobs[0].apply)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"machines": "m_1,0,1\n"}, "machine_meta.csv:1:1: 3 columns; the format has 7"),
        ({"machines": MACHINES + "m_9,0,1,a,many,5,USING\n"}, "machine_meta.csv:5:11: 'many' is no number"),
        ({"containers": "c_1,m_1,x,a,started,1,1,1\n"}, "container_meta.csv:1:9: 'x' is no number"),
        ({"tasks": "\n\nM1,3,j_1,1,Terminated,100,later,1,1\n"}, "batch_task.csv:3:27: 'later' is no number"),
    ],
)
def test_bad_rows_have_their_place(changed: dict[str, str], problem: str) -> None:
    with pytest.raises(Unreadable) as raised:
        scenario_from_alibaba(files(**changed), Window())
    assert str(raised.value) == problem


@pytest.mark.parametrize("invalid", ["-1", "101"])
def test_invalid_memory_sizes_are_noted(invalid: str) -> None:
    found = scenario_from_alibaba(
        files(
            machines=f"m_1,0,1,a,96,{invalid},USING\n",
            containers=f"c_1,m_1,0,app_7,started,400,800,{invalid}\n",
            tasks=f"M1,3,j_1,1,Terminated,100,160,100,{invalid}\n",
        ),
        Window(memory=200 * 2**30),
    )
    assert found.notes[1].startswith("3 rows have no valid memory size")
    made = read(found)
    assert made.nodes[0].memory == "204800Mi"
    pods = [
        each.apply.objects[0]["spec"]["template"]["spec"] for each in made.actions if each.apply is not None
    ]
    assert [pod["containers"][0]["resources"]["requests"]["memory"] for pod in pods] == ["0Mi", "0Mi"]
