"""Recording a cluster, and the scenario that shows the same lives of pods."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

from podling import clock
from podling.api.apps_v1 import Deployment
from podling.api.batch_v1 import CronJob
from podling.api.core_v1 import Pod
from podling.machinery.encoding.bodies import Body
from podling.machinery.encoding.codec import convert
from podling.runtime.sim import ContainerScript, ImageScript
from podling.runtime.sim import Scenario as Scripts
from podling.runtime.sim.script import Run as ContainerRun
from podling.sim import loop
from podling.sim.recording.comparison import differences, end_of, lives
from podling.sim.recording.recorder import ADDED, Moment, Recorder
from podling.sim.recording.to_scenario import scenario_from_moments
from podling.sim.runner import run_scenario
from podling.sim.simulated_cluster import ClusterSettings, simulated_cluster
from tests.support.importing import read
from tests.support.scenarios import FOLDER

CRASHES = '{"startSeconds": 2, "runs": [{"seconds": 5, "exitCode": 3}, {"seconds": 300}]}'


def template(name: str, **annotations: str) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "command": ["run"]}]
    return {
        "metadata": {"labels": {"app": name}, "annotations": annotations},
        "spec": {"containers": containers},
    }


def deployment(replicas: int) -> Any:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template("web")}
    metadata = {"name": "web", "namespace": "default"}
    return convert(Body({"metadata": metadata, "spec": spec}, ()), Deployment, "Strict")[0]


def tick() -> Any:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    plain = {"metadata": {"name": "tick", "namespace": "default"}, "spec": spec}
    return convert(Body(plain, ()), CronJob, "Strict")[0]


def pod(name: str, image: str = "i", runs: str = CRASHES) -> Any:
    plain = template(name, **{"sim.podling.dev/c": runs})
    plain["spec"]["containers"][0]["image"] = image
    plain["metadata"] |= {"name": name, "namespace": "default"}
    return convert(Body(plain, ()), Pod, "Strict")[0]


async def history(sink: Any) -> tuple[list[Moment], float]:
    """Record a cluster whose users create, scale and delete."""
    async with simulated_cluster(2) as cluster:
        await cluster.client.create(deployment(2))
        await cluster.advance(seconds=20)
        recorder, end = Recorder(cluster.client, sink), asyncio.Event()
        recording = asyncio.create_task(recorder.record(end))
        await cluster.advance(seconds=10)
        await cluster.client.create(pod("crash"))
        await cluster.advance(seconds=60)
        await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 4}}, "default")
        await cluster.advance(seconds=60)
        await cluster.client.delete(Pod, "crash", "default")
        await cluster.advance(seconds=60)
        end.set()
        return list(await recording), recorder.seconds


def test_replayed_history_shows_the_same_lives() -> None:
    recorded: list[bytes] = []
    moments, seconds = loop.run(history(recorded.append))
    assert seconds == 190
    assert {each.plain["kind"] for each in moments if each.at == 0} >= {"Node", "Deployment", "Pod"}
    made = read(scenario_from_moments(moments, seconds))
    assert [action.name for action in made.actions] == [
        "create Pod crash",
        "change Deployment web",
        "delete Pod crash",
    ]
    replayed: list[bytes] = []
    outcome, _ = run_scenario(made, FOLDER, 0, replayed.append)
    assert not any(each.error for each in outcome.actions)
    first, second = (lives(map(json.loads, lines)) for lines in (recorded, replayed))
    assert sorted(first) == [
        "pods/default/crash",
        "pods/default/web #1",
        "pods/default/web #2",
        "pods/default/web #3",
        "pods/default/web #4",
    ]
    assert (
        differences({"crash": first["pods/default/crash"]}, {"crash": second["pods/default/crash"]}, 1.0)
        == []
    )
    assert [stage.text for stage in second["pods/default/crash"]][-1] == "gone"
    for number in (3, 4):
        name = f"pods/default/web #{number}"
        assert differences({name: first[name]}, {name: second[name]}, 1.0) == []


def test_replay_has_the_minutes_images_and_jobs_of_the_history() -> None:
    """A CronJob is due at the same moments, its pods end, an image is missing, and the log's end counts."""
    begin = datetime(2031, 5, 6, 7, 8, 40, 500_000, tzinfo=UTC)
    scripts = Scripts(
        containers={"default/tick-*": ContainerScript(runs=(ContainerRun(seconds=3),))},
        images={"example.com/none:1": ImageScript(missing=True)},
    )

    async def record(sink: Any) -> tuple[list[Moment], float, datetime | None]:
        async with simulated_cluster(1, ClusterSettings(scenario=scripts)) as cluster:
            await cluster.client.create(tick())
            recorder, end = Recorder(cluster.client, sink), asyncio.Event()
            recording = asyncio.create_task(recorder.record(end))
            await cluster.advance(seconds=5)
            await cluster.client.create(pod("none", image="example.com/none:1"))
            await cluster.client.create(pod("crash", runs='{"runs": [{"seconds": 2, "exitCode": 3}]}'))
            await cluster.advance(seconds=80)
            end.set()
            return list(await recording), recorder.seconds, recorder.begin

    recorded: list[bytes] = []
    made = scenario_from_moments(*loop.run(record(recorded.append), start=begin))
    replayed: list[bytes] = []
    outcome, _ = run_scenario(read(made), FOLDER, 0, replayed.append)
    assert outcome.passed
    logs = [list(map(json.loads, lines)) for lines in (recorded, replayed)]
    assert end_of(logs[0]) == 85
    first, second = (lives(lines, end_of(logs[0])) for lines in logs)
    assert len(first) == 4
    assert differences(first, second, 1.0) == []


def test_recording_ends_after_its_time() -> None:
    async def main() -> tuple[float, set[str]]:
        async with simulated_cluster(1) as cluster:
            recorder = Recorder(cluster.client)
            begin = clock.monotonic()
            moments = await recorder.record(asyncio.Event(), 30)
            return clock.monotonic() - begin, {each.type for each in moments if each.at == 0}

    assert loop.run(main()) == (30, {ADDED})
