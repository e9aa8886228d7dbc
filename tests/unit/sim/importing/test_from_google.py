"""Scenarios from Google's traces of 2011 and 2019."""

from __future__ import annotations

import pytest

from podling.sim.importing.from_google import MACHINES, TASKS, scenario_from_google
from podling.sim.importing.sources import Unreadable
from podling.sim.importing.traces import Window
from tests.support.importing import read

MACHINES_2011 = """\
0,5,0,HofLGzk1,0.5,0.2493
0,6,0,HofLGzk1,0.5,0.2493
60000000,7,0,HofLGzk1,1,1
120000000,6,1,HofLGzk1,0.5,0.2493
"""
TASKS_2011 = """\
0,,3418309,0,,0,user,3,9,0.125,0.0744,0.0004,0
0,,3418309,1,,0,user,3,9,0.125,0.0744,0.0004,0
1000000,,3418309,0,5,1,user,3,9,0.125,0.0744,0.0004,0
1000000,,3418309,1,5,1,user,3,9,0.125,0.0744,0.0004,0
31000000,,3418309,0,5,4,user,3,9,,,,
41000000,,3418309,1,5,4,user,3,9,,,,
20000000,,77,0,,0,user,3,9,0.25,0.1,0.0004,0
50000000,,77,0,5,3,user,3,9,,,,
30000000,,88,0,,0,user,3,9,0.25,0.1,0.0004,0
"""
MACHINES_2019 = """\
{"time":"0","machine_id":"5","type":"ADD","capacity":{"cpus":0.5,"memory":0.25}}
{"time":"0","machine_id":"6","type":1,"capacity":{"cpus":0.5,"memory":0.25}}
"""
INSTANCES_2019 = """\
{"time":"1000000","type":"SUBMIT","collection_id":"9","instance_index":"0","resource_request":{"cpus":0.1,"memory":0.1}}
{"time":"2000000","type":3,"collection_id":"9","instance_index":"0","machine_id":"5"}
{"time":"3000000","type":"UPDATE_RUNNING","collection_id":"9","instance_index":"0"}
{"time":"12000000","type":"FINISH","collection_id":"9","instance_index":"0"}
"""
WINDOW = Window(length=600, cores=32, memory=64 * 2**30)


def applied(text: object) -> dict[str, tuple[float | None, str]]:
    found = {}
    for action in getattr(text, "actions"):  # noqa: B009
        if action.apply is not None:
            (plain,) = action.apply.objects
            found[plain["metadata"]["name"]] = (action.at, plain["kind"])
    return found


def test_tables_of_2011() -> None:
    made = scenario_from_google(
        {MACHINES: [("machine_events.csv", MACHINES_2011)], TASKS: [("task_events.csv", TASKS_2011)]}, WINDOW
    )
    found = read(made)
    assert sum(each.count for each in found.nodes) == 2
    assert (found.nodes[0].cpu, found.nodes[0].memory) == ("16000m", "16338Mi")
    assert applied(found) == {
        "job-3418309-1": (0, "Job"),
        "job-77-2": (20, "Job"),
        "job-88-3": (30, "Deployment"),
    }
    text = str([each.apply for each in found.actions])
    assert "35.0" in text, "the median of the lengths of both tasks"
    assert '"exitCode": 1' in text
    moves = [
        (float(each.at or 0), each.add_nodes, each.remove_nodes)
        for each in found.actions
        if each.apply is None
    ]
    (added_at, added, _), (removed_at, _, removed) = moves
    assert (added_at, removed_at) == (60, 120)
    assert added is not None
    assert removed is not None
    assert (added.name, removed.names) == ("machine-7", ("machine-6-1",))
    assert "1 tasks have no end in the files" in made.notes[1]


def test_tables_of_2019() -> None:
    found = read(
        scenario_from_google(
            {
                MACHINES: [("machine_events.json", MACHINES_2019)],
                TASKS: [("instance_events.json", INSTANCES_2019)],
            },
            WINDOW,
        )
    )
    assert [each.count for each in found.nodes] == [2]
    assert applied(found) == {"job-9-1": (1, "Job")}
    assert '"seconds": 10.0' in str(found.actions)


@pytest.mark.parametrize(
    ("table", "text", "problem"),
    [
        (MACHINES, "0,5,9,x,1,1\n", "f:1:5: 9 is no event of the table machine_events"),
        (MACHINES, "zero,5,0,x,1,1\n", "f:1:1: 'zero' is no number"),
        (TASKS, "0,,1\n", "f:1:1: 3 columns; the format has 13"),
        (
            TASKS,
            '{"time": 1, "type": "SUBMIT"}\n',
            "f:1:1: the field 'collection_id' of the table task_events",
        ),
        (TASKS, '{"time": 1, "type": "NAP", "collection_id": 1, "instance_index": 1}', "'NAP' is no type"),
        (TASKS, '{"time": 1,\n', "f:1:"),
        (MACHINES, '{"time": 1, "type": "ADD", "capacity": 7}', "f:1:1: "),
    ],
)
def test_bad_rows_have_their_place(table: str, text: str, problem: str) -> None:
    with pytest.raises(Unreadable) as raised:
        scenario_from_google({table: [("f", text)]}, WINDOW)
    assert problem in str(raised.value)


def test_alloc_sets_are_left_out() -> None:
    reserved = INSTANCES_2019.replace('"collection_id":"9"', '"collection_id":"4","collection_type":"1"')
    tasks = INSTANCES_2019.replace('"collection_id":"9"', '"collection_id":"9","collection_type":0')
    made = scenario_from_google({TASKS: [("instance_events.json", reserved + tasks)]}, WINDOW)
    assert applied(read(made)) == {"job-9-1": (1, "Job")}


def test_repaired_machine_comes_back() -> None:
    machines = MACHINES_2011 + "240000000,6,0,HofLGzk1,0.5,0.2493\n"
    found = read(scenario_from_google({MACHINES: [("machine_events.csv", machines)]}, WINDOW))
    moves = {
        float(each.at or 0): each.add_nodes.name if each.add_nodes is not None else None
        for each in found.actions
    }
    assert moves == {60: "machine-7", 120: None, 240: "machine-6"}
